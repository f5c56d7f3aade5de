"""The table of rooms holds: who may import whom, and who may import the compiler."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import wattpack
from wattpack.cli import COMMANDS
from wattpack.jit.sources import KERNEL_SOURCES

SOURCE = Path(wattpack.__file__).parent
TESTS = Path(__file__).parent
GROUND = {"errors", "files"}  # what most rooms stand on

# room -> what of ours it may import, besides itself
MAY_IMPORT = {
    "errors": set(),
    "files": {"errors"},
    "jit": {"files"},  # whose folder it may trust: what lies there is run
    "frames": {"errors"},
    "model": {"errors", "frames", "jit"},
    "policies": {"errors", "frames", "jit", "model"},
    "engine": {"errors", "frames", "jit", "model"},
    "datasets": GROUND | {"model"},
    "optimise": GROUND | {"jit", "model", "policies", "engine", "datasets"},
    "choose": GROUND | {"jit", "model", "policies", "engine", "datasets"},
    "energy": {"errors", "model", "engine", "datasets"},
    "experiments": GROUND
    | {"frames", "jit", "model", "policies", "engine", "datasets", "optimise", "choose", "energy"},
    "paper": GROUND | {"model", "policies", "datasets", "experiments"},
    "report": GROUND | {"experiments"},
    "comparison": GROUND | {"frames", "experiments", "report"},  # the front door's: what runs, and how it looks
    "answers": GROUND  # the front door's too: questions of Python and of the command line
    | {"frames", "kube", "model", "policies", "engine", "datasets", "optimise", "choose", "energy", "experiments"}
    | {"report", "comparison"},
    "calibrate": GROUND | {"jit", "model"},
    "kube": GROUND | {"jit", "model", "policies", "engine", "datasets", "choose"},
    "ui": GROUND  # a page that asks what runs and shows how it looks, as the command line does
    | {"jit", "kube", "model", "policies", "engine", "datasets", "choose", "energy", "experiments", "report"},
    "cli": GROUND
    | {"calibrate", "ui", "jit", "kube", "model", "policies", "engine", "datasets", "optimise", "choose"}
    | {"energy", "experiments", "paper", "report", "comparison", "answers"},
    "__main__": {"cli"},  # `python -m wattpack`
}
FILES = sorted(SOURCE.rglob("*.py"))

# rooms inside the engine -> what of the engine they may import, besides themselves
ENGINE_MAY_IMPORT = {
    "core": set(),
    "runs": {"core"},
    "windows": {"core", "runs", "moments"},
    "moments": {"core", "runs"},
    "live": {"core"},
}


def room_of(file: Path) -> str:
    """`wattpack/__init__.py` is the front door: ''."""
    first = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


def imports_in(text: str, package: tuple[str, ...]) -> set[str]:
    """Full names of all imports anywhere in a module of `package`: inside functions and for type checkers too."""
    found = set()
    for statement in ast.walk(ast.parse(text)):
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            above = package[: len(package) - statement.level + 1] if statement.level else ()
            module = ".".join([*above, *([statement.module] if statement.module else [])])
            # `from wattpack import model` imports wattpack.model
            found |= {f"{module}.{alias.name}" for alias in statement.names} if module == "wattpack" else {module}
    return found


def imported_modules(file: Path) -> set[str]:
    return imports_in(file.read_text(encoding="utf-8"), ("wattpack", *file.relative_to(SOURCE).parts[:-1]))


def imported_rooms(file: Path) -> set[str]:
    names = [name.split(".") for name in imported_modules(file)]
    return {parts[1] if len(parts) > 1 else "" for parts in names if parts[0] == "wattpack"}


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_the_table_allows(room: str) -> None:
    allowed = MAY_IMPORT[room] | {room}
    broken = {
        f"{file.relative_to(SOURCE)} imports {other or 'wattpack itself'}"
        for file in FILES
        if room_of(file) == room
        for other in imported_rooms(file) - allowed
        if other != "__version__"
    }
    assert broken == set()


def test_every_room_is_in_the_table() -> None:
    assert {room_of(file) for file in FILES} - {""} <= set(MAY_IMPORT)


@pytest.mark.parametrize("room", ENGINE_MAY_IMPORT)
def test_inside_the_engine_the_core_knows_no_runs_and_live_and_runs_do_not_know_each_other(room: str) -> None:
    files = sorted((SOURCE / "engine" / room).rglob("*.py"))
    assert files
    inside = {
        (file.name, name.split(".")[2])
        for file in files
        for name in imported_modules(file)
        if name.startswith("wattpack.engine.")
    }
    assert {(name, other) for name, other in inside if other not in ENGINE_MAY_IMPORT[room] | {room}} == set()


def test_every_room_inside_the_engine_is_in_the_table() -> None:
    rooms = {file.relative_to(SOURCE / "engine").parts[0] for file in (SOURCE / "engine").rglob("*.py")}
    assert rooms - {"__init__.py"} == set(ENGINE_MAY_IMPORT)


def test_policies_and_engine_do_not_know_each_other() -> None:
    assert "policies" not in MAY_IMPORT["engine"]
    assert "engine" not in MAY_IMPORT["policies"]


def test_nothing_imports_the_command_line() -> None:
    importers = {room_of(file) for file in FILES if "cli" in imported_rooms(file)}
    assert importers <= {"cli", "__main__"}


def test_no_command_imports_another() -> None:
    commands = SOURCE / "cli" / "commands"
    names = {f"wattpack.cli.commands.{file.stem}" for file in commands.glob("*.py")} - {
        "wattpack.cli.commands.__init__"
    }
    assert len(names) >= 14
    importers = {
        f"{file.relative_to(SOURCE)} imports {other}"
        for file in (SOURCE / "cli").rglob("*.py")
        for other in imported_modules(file) & (names | {"wattpack.cli.commands"})
    }
    assert importers == set()


def test_every_command_is_a_file_of_its_own() -> None:
    files = {file.stem for file in (SOURCE / "cli" / "commands").glob("*.py")} - {"__init__"}
    assert {function.partition(":")[0] for function, _ in COMMANDS.values()} == {
        f"wattpack.cli.commands.{stem}" for stem in files
    }


def importers_of(package: str) -> set[str]:
    return {
        str(file.relative_to(SOURCE))
        for file in FILES
        if any(name.split(".")[0] == package for name in imported_modules(file))
    }


@pytest.mark.parametrize("package", ["numba", "llvmlite"])
def test_only_jit_imports_the_compiler(package: str) -> None:
    assert {Path(file).parts[0] for file in importers_of(package)} <= {"jit"}


def test_only_the_front_door_knows_what_runs_and_how_it_looks() -> None:
    both = {room for room, allowed in MAY_IMPORT.items() if {"experiments", "report"} <= allowed}
    assert both == {"comparison", "answers", "cli", "ui"}


def is_kernel_source(name: str) -> bool:
    return any(
        name == part.removesuffix(".py") or name == part or name.startswith(f"{part}/") for part in KERNEL_SOURCES
    )


def holds_kernels(file: Path) -> bool:
    return re.search(r"^@(kernel|step|inner)", file.read_text(encoding="utf-8"), re.MULTILINE) is not None


def test_every_file_with_a_kernel_is_part_of_the_cache_digest() -> None:
    names = {file.relative_to(SOURCE).as_posix() for file in FILES if holds_kernels(file)}
    assert names
    assert {name for name in names if not is_kernel_source(name)} == set()


def test_kernels_use_only_sources_that_are_part_of_the_cache_digest() -> None:
    read = {module for file in FILES if holds_kernels(file) for module in imported_modules(file)}
    ours = {module.removeprefix("wattpack.").replace(".", "/") for module in read if module.startswith("wattpack.")}
    without_constants = {"errors", "datasets/inflation"}  # a class of error; seeded generators
    assert {name for name in ours - without_constants if not is_kernel_source(name) and name != "jit"} == set()


def test_importing_wattpack_loads_nothing_heavy() -> None:
    heavy = ["numba", "llvmlite", "numpy", "matplotlib", "duckdb", "rich", "cyclopts", "pandas"]
    code = f"import sys, wattpack; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def packages_of(lock: str) -> set[str]:
    text = (TESTS.parent / "locks" / lock).read_text(encoding="utf-8")
    return {name.lower().replace("-", "_") for name in re.findall(r"^([\w.-]+)(?:\[.*\])?==", text, re.MULTILINE)}


def imported_at_the_top(file: Path) -> set[str]:
    statements = ast.parse(file.read_text(encoding="utf-8")).body
    plain = {alias.name for line in statements if isinstance(line, ast.Import) for alias in line.names}
    return plain | {line.module or "" for line in statements if isinstance(line, ast.ImportFrom)}


def test_what_make_test_reads_imports_at_the_top_only_what_it_installs() -> None:
    """`make test` also reads the end-to-end tests, to leave them out; a package of `make e2e` alone ended it in CI."""
    only_e2e = packages_of("distributed.txt") - packages_of("dev.txt")
    assert {"bcrypt", "dask", "ray"} <= only_e2e
    programs = {"fast_emulator.py"}  # started as a process, never imported
    found = {
        (file.name, name)
        for file in TESTS.rglob("*.py")
        for name in imported_at_the_top(file)
        if file.name not in programs and name.split(".")[0] in only_e2e
    }
    assert found == set()


def test_imports_are_found_wherever_they_stand() -> None:
    """The checker itself: plain, from the package, for type checkers, inside a function, relative."""
    text = """
import wattpack.engine.core.state as state
from wattpack import model
if TYPE_CHECKING:
    from wattpack.cli import main
def function():
    from ..policies.fgd import FGD
    from . import panels
    import numba.core
"""
    assert imports_in(text, ("wattpack", "report")) == {
        "wattpack.engine.core.state",
        "wattpack.model",
        "wattpack.cli",
        "wattpack.policies.fgd",
        "wattpack.report",
        "numba.core",
    }
