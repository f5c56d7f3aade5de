"""The guide "write a policy", followed literally: each file as it says, each command in its order."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.files import write_nodes, write_tasks

GUIDE = (Path(__file__).parents[1] / "docs" / "guide" / "write-a-policy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", GUIDE, flags=re.DOTALL)
SMALL = ["--datacenter", "nodes.csv", "--trace", "tasks.csv"]  # instead of the built-in ones
PROGRAMS = {"wattpack": [sys.executable, "-m", "wattpack"], "python": [sys.executable]}


def run(folder: Path, line: str) -> str:
    program, *words = shlex.split(line)
    words += SMALL if words[0] == "compare" else []
    done = subprocess.run([*PROGRAMS[program], *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (line, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout


@pytest.mark.e2e  # 36 s: compiles all kernels again for each step
@pytest.mark.compiled
def test_the_guide_can_be_followed_literally(tmp_path: Path) -> None:
    write_nodes(tmp_path)
    write_tasks(tmp_path)
    said: dict[str, str] = {}
    for language, text in BLOCKS:
        if language == "python":
            name = text.partition("\n")[0].removeprefix("# ")
            assert f"`{name}`" in GUIDE  # the text says where the block goes
            (tmp_path / name).write_text(text)
        else:
            assert language == "sh"
            said.update({line: run(tmp_path, line) for line in text.splitlines()})
    assert said["python try_busiest.py"].startswith("[]\n")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "busiest",
        "busiest-too",
        "mine",
        "avoid",
        "pressed",
    }
    assert all((folder / "summary.csv").is_file() for folder in (tmp_path / "out").iterdir())


def test_the_guide_names_every_choice_of_a_policy() -> None:
    names = ("prepare", "params", "memory_size", "Pick.OWN", "with_knob", "weigh", "remember", "amounts_only", "notes")
    assert [name for name in (*names, "used_terms", "--no-check", "new-policy") if name not in GUIDE] == []
