"""Workflows, templates, the pre-commit hooks and what pyproject.toml claims agree with the Makefile and each other."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from trove_classifiers import classifiers

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CI = ROOT / ".github" / "workflows" / "ci.yml"


def load_tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = load_tool("check_ci_files")


def copy(folder: Path) -> Path:
    """The files that the checker reads, to be spoilt."""
    shutil.copytree(ROOT / ".github", folder / ".github")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_workflows_and_templates_are_good() -> None:
    assert TOOL.problems(ROOT) == []


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("run: make test", "run: make tset", "make tset, which is not in the Makefile"),
        ("run: make test", "run: pip install .", "expected make and one target"),
        ("run: make test", "run: make test\n        shell: bash", "unknown key shell"),
        ("actions/checkout@v5", "actions/checkout@main", "expected actions/NAME@vN"),
        ("actions/checkout@v5", "somebody/checkout@v5", "expected actions/NAME@vN"),
        ('"3.11", "3.12"', '"3.12"', "lacks 3.11, which pyproject.toml claims"),
        ('"3.11", "3.12"', '"3.10", "3.11"', "expected 3.11 (requires-python)"),
        ('"3.13"', "3.13", "3.13, expected text"),
        ("contents: read", "contents: write", "expected contents: read"),
        ("  wheel:\n    runs-on: ubuntu-latest\n", "  wheel:\n", "jobs.wheel: no runs-on"),
        ("  wheel:\n", "  test:\n", "twice: test"),
        ("name: ci\n", "name: ci\nonn: push\n", "unknown key onn"),
        ("on:\n  push:", "of:\n  push:", "no on"),
        ("PYTHON: python${{ matrix.python }}", "PYTHON: ${{ secrets.X }}", "secrets: expected none"),
        ("name: ci\n", "name: [ci\n", "not YAML"),
    ],
)
def test_what_is_wrong_in_a_workflow_is_told(tmp_path: Path, before: str, after: str, told: str) -> None:
    root = copy(tmp_path)
    text = CI.read_text(encoding="utf-8")
    assert before in text
    (root / ".github" / "workflows" / "ci.yml").write_text(text.replace(before, after), encoding="utf-8")
    assert any(told in line for line in TOOL.problems(root)), TOOL.problems(root)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("type: input", "type: inptu", "type inptu"),
        ("id: seen", "id: command", "id command, expected one of its own"),
        ("description: A wrong", "about: A wrong", "unknown key about"),
        ("label: Command", "title: Command", "no attributes.label"),
    ],
)
def test_what_is_wrong_in_a_template_is_told(tmp_path: Path, before: str, after: str, told: str) -> None:
    file = copy(tmp_path) / ".github" / "ISSUE_TEMPLATE" / "bug.yml"
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after, 1), encoding="utf-8")
    assert any(told in line for line in TOOL.problems(tmp_path)), TOOL.problems(tmp_path)


def test_the_pre_commit_hooks_are_the_commands_of_make_check() -> None:
    read = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (repo,) = read["repos"]
    assert repo["repo"] == "local"  # the locked tools of .venv, not other versions from elsewhere
    assert all(hook["language"] == "system" and hook["pass_filenames"] is False for hook in repo["hooks"])
    recipe = re.search(r"^check:[^\n]*\n((?:\t[^\n]*\n)+)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert recipe is not None
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe[1].splitlines()]
    assert [hook["entry"] for hook in repo["hooks"]] == commands


def test_every_classifier_exists_and_none_claims_what_was_not_seen() -> None:
    claimed = PROJECT["project"]["classifiers"]
    assert set(claimed) <= set(classifiers)
    assert len(set(claimed)) == len(claimed)
    systems = [line for line in claimed if line.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]


def test_the_source_distribution_has_every_file_that_git_knows() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    known = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    always = {"pyproject.toml"}
    parts = {name.removeprefix("/") for name in included} | always
    assert {name for name in known if name.split("/")[0] not in parts} == set()
    assert {part for part in parts if not (ROOT / part).exists()} == set()


def test_the_set_up_reads_no_script_from_standard_input() -> None:
    """Worker processes that are not forked import the main module again: compileall failed on Python 3.12 and 3.13."""
    assert "python - <<" not in (ROOT / "tools" / "setup.sh").read_text(encoding="utf-8")
