"""The command line as `pip install .` leaves it: without aiohttp, cel, yaml, uvloop, dask and ray."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from kube.mixed import write_mixed
from wattpack.cli import COMMANDS

EXTRAS = ("aiohttp", "cel_expr_python", "dask", "distributed", "ray", "uvloop", "yaml")
# Runs the lines of its input as command lines in a process where the extras cannot be imported.
PLAIN = f"""
import shlex, sys
for name in {EXTRAS}:
    sys.modules[name] = None
from wattpack.cli import main
for line in sys.stdin:
    try:
        main(shlex.split(line))
    except SystemExit as ended:
        if ended.code:
            sys.exit(f"{{line.strip()}}: {{ended.code}}")
"""


def in_plain_python(*lines: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", PLAIN], input="\n".join(lines), capture_output=True, text=True)


def test_every_command_shows_its_help_without_the_extras() -> None:
    done = in_plain_python(*(f"{name} --help" for name in COMMANDS))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Usage: wattpack ") == len(COMMANDS)


def test_a_cluster_in_a_file_is_imported_without_the_extras(tmp_path: Path) -> None:
    done = in_plain_python(f"import --file {write_mixed(tmp_path)} --out {tmp_path / 'out'}")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out" / "nodes.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 10


@pytest.mark.parametrize("command", ["import --out x", "fit -f pod.yaml", "sleep status", "serve", "ui"])
def test_a_command_that_needs_an_extra_says_in_one_line_what_to_install(tmp_path: Path, command: str) -> None:
    (tmp_path / "pod.yaml").write_text("kind: Pod")
    done = in_plain_python(command.replace("pod.yaml", str(tmp_path / "pod.yaml")))
    assert "Traceback" not in done.stderr
    first, *rest = done.stderr.splitlines()
    assert first.startswith("wattpack: ")
    assert "wattpack[serve]" in first
    assert rest == [f"{command.replace('pod.yaml', str(tmp_path / 'pod.yaml'))}: 2"]
