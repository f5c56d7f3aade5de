"""Every command and example of the README does what the README says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cli.files import write_nodes, write_tasks
from wattpack.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# What needs a cluster is run on a real one: tests/e2e/test_readme_live.py
WITHOUT_CLUSTER = re.sub(r"## In a Kubernetes cluster.*?(?=\n## )", "", README, flags=re.DOTALL)
WATTPACK = re.findall(r"^wattpack [^\n#]+", WITHOUT_CLUSTER, flags=re.MULTILINE)


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_ten_line_example_prints_what_the_readme_shows(tmp_path: Path) -> None:
    (example,), (shown,) = blocks("python"), blocks("text")
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == shown
    assert len([line for line in example.splitlines() if line]) <= 10


@pytest.mark.parametrize("command", WATTPACK)
def test_each_wattpack_command_of_the_readme_runs(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_nodes(tmp_path)
    write_tasks(tmp_path)
    words = [word.replace("NAME", "share-1") for word in shlex.split(command)[1:]]
    if words[0] == "compare":
        words += ["--seeds", "1"]  # the README's commands take 10 seeds; one shows that they run
    main(words)


def test_each_make_target_of_the_readme_exists() -> None:
    targets = re.findall(r"^make (\w+)", README, flags=re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"demo", "test"} <= set(targets)
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)


def test_each_link_of_the_readme_leads_to_a_file() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []
