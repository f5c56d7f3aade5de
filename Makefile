# Everything a person or a machine does with this repository. Needs make and Python 3.11 or newer, nothing else.
# The same words everywhere: demo, test, check, bench, paper, e2e.

PYTHON ?= python3
ARGS ?=
# Workers of pytest; `make test WORKERS=0` runs in one process.
WORKERS ?= auto
# `make lock UPGRADE=--upgrade` takes new versions, `make lock` only what pyproject.toml asks for.
UPGRADE ?=
UV ?= uv==0.13.7

BIN := .venv/bin
COMPILE := .uv/bin/uv pip compile --quiet --universal --generate-hashes --no-strip-extras --no-header --no-annotate --python-version 3.11
SETUP := PYTHON="$(PYTHON)" sh tools/setup.sh

# Without compiled files every import takes 3 times as long.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH
unexport PYTHONHOME

.NOTPARALLEL:
.PHONY: help demo test check format bench paper e2e wheel lock clean distclean setup setup-dev setup-distributed

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: setup ## install, then compare the policies on the built-in datacenter (results in out/demo)
	@$(BIN)/wattpack compare --out out/demo $(ARGS)

test: setup-dev ## all tests but the end-to-end ones (ARGS="-k name" to choose)
	$(BIN)/python -m pytest -n $(WORKERS) -m "not e2e" $(ARGS)

check: setup-dev ## format, lint, types (also of the page's scripts), layers, workflows
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q --noconftest tests/test_layers.py
	$(BIN)/python tools/check_ci_files.py
	sh tools/check_js.sh

format: setup-dev ## rewrite the files as `make check` wants them
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## speed and memory, written as JSON with the machine
	$(BIN)/python -m benchmarks $(ARGS)

paper: setup ## all figures, tables and claims of the paper (results in out/paper)
	@$(BIN)/wattpack paper --out out/paper $(ARGS)

# pytest ends with 5 when no test carries the mark: not a failure.
e2e: setup-distributed ## the tests that need dask, ray, a browser (chromium) or a Kubernetes control plane (built with Go, once, 12 minutes), thousands of random command lines, and what takes long
	@tools/controlplane/build.sh >/dev/null || echo "e2e: no control plane, its tests are left out" >&2
	@[ -x /usr/bin/chromium ] || echo "e2e: no /usr/bin/chromium, the browser tests are left out" >&2
	$(BIN)/python -m pytest -m "e2e and not alone" -n $(WORKERS) --dist loadfile $(ARGS) || { rc=$$?; [ $$rc -eq 5 ] || exit $$rc; }
	$(BIN)/python -m pytest -m "e2e and alone" $(ARGS) || { rc=$$?; [ $$rc -eq 5 ] || exit $$rc; }

wheel: setup ## build wheel and sdist (dist/), and try the wheel in a fresh environment away from the sources
	@$(BIN)/python tools/make_wheel.py

setup: ## only install what `make demo` needs
	@$(SETUP) core

setup-dev:
	@$(SETUP) dev

setup-distributed:
	@$(SETUP) distributed

lock: ## make locks/*.txt again from pyproject.toml (UPGRADE=--upgrade for new versions)
	@[ -x .uv/bin/uv ] || { $(PYTHON) -m venv .uv && .uv/bin/python -m pip install --quiet --disable-pip-version-check "$(UV)"; }
	$(COMPILE) $(UPGRADE) pyproject.toml locks/build.in --output-file locks/core.txt
	$(COMPILE) $(UPGRADE) pyproject.toml locks/build.in --extra serve --constraint locks/core.txt --output-file locks/serve.txt
	$(COMPILE) $(UPGRADE) pyproject.toml locks/build.in --extra serve --extra dev --constraint locks/serve.txt --output-file locks/dev.txt
	$(COMPILE) $(UPGRADE) pyproject.toml locks/build.in --extra serve --extra dev --extra dask --extra ray --extra e2e --constraint locks/dev.txt --output-file locks/distributed.txt

clean: ## remove results and caches
	rm -rf out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov
	find src tests benchmarks tools -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## the same, and the virtual environments
	rm -rf .venv .uv
