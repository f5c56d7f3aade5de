"""Bounds that are solved ahead are those that would have been solved afterwards."""

from pathlib import Path

import pytest

from builders import make_datacenter, make_node, make_task, make_workload
from wattpack.experiments.bound import ahead
from wattpack.experiments.bound.ahead import bounds_ahead
from wattpack.experiments.bound.curves import solve_bound

DATACENTER = make_datacenter([make_node(gpus=2), make_node(gpus=8)])
TRACES = {"mine": make_workload([make_task(gpu=0.5), make_task(gpu=1)])}


def kept(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.glob("bound-*.json")}


def test_a_bound_solved_ahead_has_the_bytes_of_one_solved_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "usable_cores", lambda: 2)
    (tmp_path / "ahead").mkdir()
    (tmp_path / "ahead" / "experiment.json").write_text("{}")
    with bounds_ahead(DATACENTER, TRACES, tmp_path / "ahead"):
        pass  # the end waits for it
    solve_bound("mine", DATACENTER, TRACES["mine"], tmp_path / "after")
    assert len(kept(tmp_path / "ahead")) == 1
    assert kept(tmp_path / "ahead") == kept(tmp_path / "after")


def test_a_refused_command_leaves_no_folder_and_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "usable_cores", lambda: 2)
    started = []
    popen = ahead.subprocess.Popen
    monkeypatch.setattr(ahead.subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[-1])
    with pytest.raises(ValueError, match="refused"), bounds_ahead(DATACENTER, TRACES, tmp_path / "out"):
        raise ValueError("refused")
    assert [child.poll() is not None for child in started] == [True]
    assert not (tmp_path / "out").exists()


def test_on_one_core_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "usable_cores", lambda: 1)
    monkeypatch.setattr(ahead.subprocess, "Popen", lambda *a, **k: pytest.fail("started"))
    with bounds_ahead(DATACENTER, TRACES, tmp_path / "out"):
        pass
