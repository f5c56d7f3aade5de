"""What a user's type checker sees of wattpack: the package says that it is typed, and its Python examples pass."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import wattpack as wp

ROOT = Path(__file__).parents[1]
CONFIG = "[mypy]\nstrict = true\npython_version = 3.11\n"
# pandas and matplotlib come without types of their own; a user has the same lines, or their stubs.
CONFIG += "".join(f"[mypy-{name}.*]\nignore_missing_imports = true\n" for name in ("pandas", "matplotlib"))
# What wattpack itself imports untyped is not the user's business: a package in site-packages is not reported on.
CONFIG += "[mypy-wattpack.*]\nignore_errors = true\n"


def blocks_of(page: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL))


def checked(tmp_path: Path, code: str) -> str:
    (tmp_path / "mypy.ini").write_text(CONFIG)
    file = tmp_path / "example.py"
    file.write_text(code)
    command = [sys.executable, "-m", "mypy", "--config-file", str(tmp_path / "mypy.ini")]
    command += ["--cache-dir", str(ROOT / ".mypy_cache"), str(file)]
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env={"MYPYPATH": str(ROOT / "src")}
    )
    return found.stdout + found.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/guide/python.md"])
def test_the_python_lines_of_a_page_pass_mypy_strict(page: str, tmp_path: Path) -> None:
    assert "Success" in checked(tmp_path, blocks_of(page))


def test_a_type_checker_knows_every_public_name_and_what_a_function_returns_and_refuses_a_name_that_is_none(
    tmp_path: Path,
) -> None:
    used = "\n".join(f"reveal_type(wp.{name})" for name in wp.__all__)
    told = checked(tmp_path, f"import wattpack as wp\n{used}\n")
    assert told.count("Revealed type") == len(wp.__all__)
    assert 'Revealed type is "Any"' not in told
    assert 'has no attribute "nothing_of_this_name"' in checked(
        tmp_path, "import wattpack as wp\nwp.nothing_of_this_name\n"
    )


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(wp.__file__).parent / "py.typed").read_text() == ""
