"""The program as a whole: help, version, exit codes, `--help` without loading anything."""

from __future__ import annotations

import subprocess
import sys

import pytest

from wattpack import __version__
from wattpack.cli import COMMANDS, main


def test_help_names_every_command_and_loads_none_of_them() -> None:
    code = "import sys; from wattpack.cli import main; main(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert all(f"  {name}" in done.stdout for name in COMMANDS)
    assert not any(
        f"'{heavy}'" in done.stderr for heavy in ("numba", "numpy", "matplotlib", "cyclopts", "duckdb", "rich")
    )


def test_importing_wattpack_loads_nothing_heavy() -> None:
    code = "import sys, wattpack; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not any(f"'{heavy}'" in done.stdout for heavy in ("numba", "numpy", "matplotlib"))


def test_every_public_name_is_there() -> None:
    import wattpack

    assert all(getattr(wattpack, name) is not None for name in wattpack.__all__)


def test_version_is_the_package_version(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--version"])
    assert capsys.readouterr().out.strip() == __version__


@pytest.mark.parametrize("words", [["nosuch"], ["compare", "--nosuch", "1"], ["compare", "--seeds", "x"], ["replay"]])
def test_a_wrong_command_line_is_one_line_and_exit_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert said[0].startswith("wattpack: ")


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help_with_its_options(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([*command.split(), "--help"])
    assert "Usage: wattpack" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "--seeds", "2.9"],
        ["compare", "--seeds", "1e1"],
        ["compare", "--batch", "0x10"],
        ["compare", "--workers", "2.0"],
        ["tune", "--seeds", "1_0"],
        ["run", "nosuch.toml", "--workers", "2.9"],
        ["paper", "--seeds", "2.9"],
        ["bound", "--seed", "4.2"],
        ["defrag", "--nodes", "n", "--tasks", "t", "--placements", "p", "--moves", "2.9"],
        ["replay", "--nodes", "n", "--tasks", "t", "--policy", "fgd", "--seed", "0b1"],
        ["serve", "--port", "88.8"],
    ],
)
def test_a_whole_number_is_taken_only_as_it_is_written(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    (said,) = capsys.readouterr().err.strip().splitlines()
    assert said == f"wattpack: {words[-2]} {words[-1]!r}, expected a whole number"
