"""The id of a run takes a digest of all code that computes it, worked out from imports."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import wattpack
from wattpack.experiments.digests import COMPUTES
from wattpack.jit.sources import closure, closure_digest, imported

SOURCE = Path(wattpack.__file__).parent
OUTSIDE = ("report/html.py", "report/terminal.py", "cli/outputs.py", "cli/commands/compare.py", "kube/app.py")
RUNS_IN_TIME = (
    "optimise/consolidate.py",
    "optimise/bound/asleep.py",
    "optimise/bound/least_energy.py",
    "experiments/sleep_and_caps.py",
    "experiments/consolidating.py",
    "experiments/timed_scenarios.py",
)
# In a process of its own on a copy of the package: ids of all kinds, before and after a line was added to each file.
IDS = """
import sys
from dataclasses import replace
from pathlib import Path
import wattpack
from experiments.small import small_inputs
from wattpack.experiments import digests
from wattpack.experiments.options import Moving, Offered
from wattpack.experiments.scenario import new_scenario
from wattpack.experiments.timed_options import Timed

def ids():
    for one in vars(digests).values():
        getattr(one, "cache_clear", int)()
    plain = new_scenario(small_inputs(), "small", "tasks", "fgd", 42)
    kinds = {"steady": {"steady": Offered(0.5), "moving": Moving(9, 9)}, "timed": {"timed": Timed()}}
    return {"fill-up": plain.id, **{kind: replace(plain, **more).id for kind, more in kinds.items()}}

package, before = Path(wattpack.__file__).parent, ids()
assert package == Path(sys.argv[1]), package
for name in sys.argv[2:]:
    file = package / name
    text = file.read_bytes()
    file.write_bytes(text + b"\\n# another line\\n")
    after = ids()
    file.write_bytes(text)
    print(name, *(kind for kind in before if before[kind] != after[kind]))
"""


def changed_kinds(package: Path, files: tuple[str, ...]) -> dict[str, list[str]]:
    """The kinds of runs that get another id by a line more in each of these files of a copy of the package."""
    shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
    path = f"{package.parent}:{Path(__file__).parents[1]}"
    found = subprocess.run(
        [sys.executable, "-c", IDS, str(package), *files],
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin", "WATTPACK_CACHE": str(package.parent / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split() for line in found.stdout.splitlines()]
    return {name: kinds for name, *kinds in lines}


def test_a_line_in_what_computes_a_run_is_another_id_and_one_in_reports_is_not(tmp_path: Path) -> None:
    every = ("fill-up", "steady", "timed")
    computes = ("engine/core/scores.py", "policies/__init__.py", "model/power.py", "jit/__init__.py")
    fill_up, steady = ("experiments/curves.py", "experiments/fill_up.py"), ("optimise/defrag/search.py",)
    files = (*RUNS_IN_TIME, *computes, *fill_up, *steady, "energy/account.py", *OUTSIDE)
    found = changed_kinds(tmp_path / "wattpack", files)
    assert found == {
        **{name: ["timed"] for name in (*RUNS_IN_TIME, "energy/account.py")},
        **{name: list(every) for name in computes},
        **{name: ["fill-up"] for name in fill_up},
        **{name: ["steady"] for name in steady},
        **{name: [] for name in OUTSIDE},
    }


@pytest.mark.parametrize("kind", COMPUTES)
def test_every_module_that_computes_a_run_counts_and_no_other(kind: str) -> None:
    contents = closure(COMPUTES[kind])
    before = closure_digest(COMPUTES[kind])
    digests = {
        closure_digest(COMPUTES[kind], read=lambda file, edited=edited: contents[file] + b"#" * (file == edited))
        for edited in contents
    }
    assert len(digests | {before}) == len(contents) + 1 > 80
    rooms = {file.relative_to(SOURCE).parts[0] for file in contents}
    assert rooms.isdisjoint({"report", "cli", "kube", "ui", "paper", "calibrate", "comparison.py"})


def test_the_modules_loaded_by_a_run_in_time_are_in_its_closure() -> None:
    """Python's own word on what is imported, beside the one read from the text."""
    code = (
        f"import sys, {', '.join(COMPUTES['timed'])}\n"
        "print(*(one.__file__ for name, one in sys.modules.items() if name.split('.')[0] == 'wattpack'), sep='\\n')"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert {Path(line) for line in loaded.splitlines()} <= set(closure(COMPUTES["timed"]))


def ast_imports(source: bytes, is_package: dict[str, bool]) -> set[str]:
    tree = ast.parse(source)
    skipped = {
        inside
        for statement in tree.body
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"
        for inside in ast.walk(statement)
    }
    found = set()
    for one in ast.walk(tree):
        if one in skipped:
            continue
        if isinstance(one, ast.Import):
            found |= {alias.name for alias in one.names}
        elif isinstance(one, ast.ImportFrom):
            assert one.level == 0, "relative: not understood by closure()"
            module = one.module or ""
            found |= {module} | ({f"{module}.{alias.name}" for alias in one.names} if is_package.get(module) else set())
    return {name for name in found if name == "wattpack" or name.startswith("wattpack.")}


def test_the_pattern_that_reads_imports_finds_what_ast_finds_in_every_file() -> None:
    packages = {
        ".".join(("wattpack", *folder.relative_to(SOURCE).parts)): True for folder in SOURCE.rglob("*/") if folder
    } | {"wattpack": True}
    wrong = {}
    for file in SOURCE.rglob("*.py"):
        source = file.read_bytes()
        missing = ast_imports(source, packages) - imported(source, lambda name: name in packages)
        if missing:
            wrong[file.name] = missing
    assert wrong == {}


def test_imports_in_functions_over_lines_and_of_modules_of_a_package_are_read() -> None:
    source = b"""
from wattpack.model import nodes, power as watts  # both
if TYPE_CHECKING:
    from wattpack.report import html

def later():
    from wattpack.energy import (
        account,  # what it costs
        signal,
    )
    import wattpack.choose.choice as chosen
"""
    found = imported(source, lambda name: name in ("wattpack.model", "wattpack.energy"))
    model = {"wattpack.model", "wattpack.model.nodes", "wattpack.model.power"}
    energy = {"wattpack.energy", "wattpack.energy.account", "wattpack.energy.signal"}
    assert found == model | energy | {"wattpack.choose.choice"}
