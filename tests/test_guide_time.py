"""Every command of docs/guide/time.md runs, in the order of the page, on small inputs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from datasets.trace_files import FILES
from kube.cluster import write_cluster
from wattpack.cli import main

GUIDE = Path(__file__).parent / ".." / "docs" / "guide" / "time.md"
PAGE = "time.md"
SMALL = ["--days", "0.01", "--seeds", "1", "--policy", "ocs"]  # in the place of a week of all policies
PRICES = "timestamp,price_per_kwh,currency\n2026-03-01T00:00Z,0.2,EUR\n2026-03-01T12:00Z,0.1,EUR\n"


def commands() -> list[list[str]]:
    text = GUIDE.read_text(encoding="utf-8")
    shell = "".join(re.findall(r"^```sh\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE))
    return [shlex.split(line, comments=True)[1:] for line in shell.splitlines() if line.startswith("wattpack ")]


def test_the_page_answers_in_five_commands() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    first = re.search(r"^```sh\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    assert first is not None
    assert GUIDE.name == PAGE
    assert first[1].count("wattpack ") == 5


@pytest.mark.compiled
def test_each_command_runs_in_the_order_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_cluster(tmp_path)
    Path("pods.json").write_text(FILES["kubernetes"][1], encoding="utf-8")
    Path("prices.csv").write_text(PRICES)
    for words in commands():
        if "speeds.csv" in words:
            models = {line.split(",")[4] for line in Path("cluster/nodes.csv").read_text().splitlines()[1:]} - {""}
            lines = [f"{model},0.5" for model in sorted(models | {"H100-80GB-HBM3"})]
            Path("speeds.csv").write_text("\n".join(["model,speed", *lines]) + "\n")
            words[words.index("--replace") + 1] = f"{sorted(models)[0]}=H100"
        main(words + (SMALL if words == ["simulate"] else []))
        out = Path(words[words.index("--out") + 1]) if "--out" in words else Path("wattpack-results")
        if words[0] == "simulate":
            assert (out / "time.csv").is_file()
            assert (out / "report.html").is_file()
    assert Path("tasks-out.csv").read_text().startswith("task,node,gpu_index,start_s,end_s,outcome,arrival_s,wait_s\n")
