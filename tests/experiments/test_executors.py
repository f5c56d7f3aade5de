"""Executors: the same bytes everywhere, and a lost worker costs no run. Dask and Ray: test_executors_clusters.py."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from experiments.small import run_files, small_experiment, write_plugin
from wattpack.errors import UserError
from wattpack.experiments.executors import open_executor
from wattpack.experiments.executors.executor import ExecutorLostError, WorkerLostError, stream
from wattpack.experiments.executors.local import Processes, Threads
from wattpack.experiments.plugins import Plugin, import_file, import_plugin, read_plugins
from wattpack.experiments.runner import run_experiment
from wattpack.experiments.scenario import Scenario
from wattpack.experiments.spec.axes import resolve
from wattpack.policies import REGISTRY


class Scripted:
    """A place without workers. `fates[policy]` is what happens to its runs, try by try: an exception or None."""

    def __init__(self, fates: dict[str, list[Exception | None]], window: int = 3) -> None:
        self.fates, self.size = fates, window
        self.tries: Counter[Scenario] = Counter()
        self.most, self.beside, self.closed = 0, Counter[str](), 0
        self.out: dict[int, Scenario] = {}

    def window(self) -> int:
        return self.size

    def submit(self, scenario: Scenario) -> int:
        ticket = sum(self.tries.values())
        self.tries[scenario] += 1
        self.out[ticket] = scenario
        return ticket

    def wait(self, tickets: Collection[Any]) -> list[int]:
        self.most = max(self.most, len(tickets))
        assert sorted(tickets) == sorted(self.out)
        for scenario in self.out.values():
            self.beside[scenario.policy] = len(self.out) - 1
        return sorted(tickets)[:1]

    def result(self, ticket: int) -> bytes:
        scenario = self.out.pop(ticket)
        fates = self.fates.get(scenario.policy, [])
        fate = fates[self.tries[scenario] - 1] if len(fates) >= self.tries[scenario] else None
        if fate is not None:
            raise fate
        return scenario.policy.encode()

    def close(self) -> None:
        self.closed += 1


POLICIES = ("fgd", "pwr", "bestfit", "dotprod", "random")


def streamed(place: Scripted) -> dict[str, bytes | Exception]:
    _, scenarios = resolve(small_experiment(POLICIES, seeds=1))
    found = list(stream(place, scenarios))
    assert len(found) == len(POLICIES)
    assert place.closed == 1
    return {scenario.policy: result for scenario, result in found}


def test_no_more_than_the_window_is_out() -> None:
    place = Scripted({})
    assert streamed(place) == {policy: policy.encode() for policy in POLICIES}
    assert place.most == 3


def test_a_failing_run_is_handed_on_and_not_tried_again() -> None:
    place = Scripted({"pwr": [ValueError("no")]})
    found = streamed(place)
    assert repr(found.pop("pwr")) == "ValueError('no')"
    assert found == {policy: policy.encode() for policy in POLICIES if policy != "pwr"}
    assert set(place.tries.values()) == {1}


def test_a_run_whose_worker_is_lost_is_run_again() -> None:
    place = Scripted({"fgd": [WorkerLostError("killed")], "random": [WorkerLostError("killed")] * 2})
    assert streamed(place) == {policy: policy.encode() for policy in POLICIES}
    assert {scenario.policy: tries for scenario, tries in place.tries.items()} == {
        "fgd": 2, "pwr": 1, "bestfit": 1, "dotprod": 1, "random": 3,
    }  # fmt: skip


def test_a_run_that_always_loses_its_worker_ends_up_alone_and_fails() -> None:
    place = Scripted({"fgd": [WorkerLostError("killed")] * 9, "pwr": [WorkerLostError("beside it")] * 2})
    found = streamed(place)
    assert str(found.pop("fgd")) == "3 workers were lost under this run, killed"
    assert found == {policy: policy.encode() for policy in POLICIES if policy != "fgd"}
    assert place.beside["fgd"] == place.beside["pwr"] == 0


def test_a_lost_place_ends_it() -> None:
    place = Scripted({"pwr": [ExecutorLostError("gone")]})
    _, scenarios = resolve(small_experiment(POLICIES, seeds=1))
    with pytest.raises(ExecutorLostError):
        list(stream(place, scenarios))
    assert place.closed == 1


def test_threads_and_processes_give_the_same_bytes(tmp_path: Path) -> None:
    experiment = small_experiment(("fgd", "pwr:0.1+fgd:0.9", "random"), seeds=3, profiles=("paper", "concave"))
    for on in ("threads", "processes"):
        run_experiment(experiment, tmp_path / on, on=on, workers=2)
    assert run_files(tmp_path / "threads") == run_files(tmp_path / "processes")
    assert len(run_files(tmp_path / "threads")) == 18


@pytest.mark.e2e  # 5 s
def test_a_process_killed_from_outside_costs_no_run(tmp_path: Path) -> None:
    experiment = small_experiment(seeds=5)
    victims: list[int] = []

    def report(done: int, everything: int, what: str) -> None:
        if done in (3, 9):
            # The first victim may not have been noticed yet: it would be there to be killed a second time.
            process = next(child for child in multiprocessing.active_children() if child.pid not in victims)
            os.kill(process.pid or 0, signal.SIGKILL)
            victims.append(process.pid or 0)

    _, _, outcome = run_experiment(experiment, tmp_path / "killed", report, on="processes", workers=2)
    assert len(set(victims)) == 2
    assert (outcome.done, outcome.failed) == (15, [])
    run_experiment(experiment, tmp_path / "whole")
    assert run_files(tmp_path / "killed") == run_files(tmp_path / "whole")
    assert multiprocessing.active_children() == []


@pytest.mark.e2e  # 3 s
def test_a_process_killed_in_the_middle_of_a_run_costs_no_run(tmp_path: Path) -> None:
    mark = tmp_path / "killed"
    plugin = write_plugin(tmp_path, mark=str(mark))
    import_file(plugin)
    experiment = small_experiment(("fgd", "own"), seeds=3)
    _, _, outcome = run_experiment(experiment, tmp_path / "out", on="processes", workers=2, plugins=[plugin])
    assert mark.exists()
    assert (outcome.done, outcome.failed) == (6, [])


@pytest.mark.e2e  # 5 s
def test_a_run_that_kills_every_process_fails_alone(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path, deadly=True)
    import_file(plugin)
    experiment = small_experiment(("fgd", "own", "pwr"), seeds=1)
    _, _, outcome = run_experiment(experiment, tmp_path / "out", on="processes", workers=2, plugins=[plugin])
    assert outcome.done == 2
    assert [(scenario.policy, fault) for scenario, fault in outcome.failed] == [
        ("own", "WorkerLostError: 3 workers were lost under this run, killed or out of memory")
    ]


def test_few_workers_are_threads_and_many_are_processes() -> None:
    inputs, scenarios = resolve(small_experiment(seeds=20))

    def place(on: str, workers: int) -> object:
        opened = open_executor(on, scenarios, inputs, workers, (), lambda: None)
        opened.close()
        return type(opened)

    assert place("local", 1) is place("local", 4) is place("threads", 64) is Threads
    assert place("local", 5) is place("processes", 1) is Processes


def test_policies_without_a_file_stay_in_threads(tmp_path: Path) -> None:
    import_file(write_plugin(tmp_path))
    inputs, scenarios = resolve(small_experiment(("own",), seeds=20))
    opened = open_executor("local", scenarios, inputs, 64, (), lambda: None)
    opened.close()
    assert isinstance(opened, Threads)
    with pytest.raises(UserError, match="expected the file that registers them as a plugin"):
        open_executor("processes", scenarios, inputs, 2, (), lambda: None)


@pytest.mark.parametrize(("on", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_package_is_one_line_that_says_what_to_install_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=rf"--on {on}: .* not installed, expected `pip install 'wattpack\[{on}\]'`"):
        run_experiment(small_experiment(), tmp_path / "out", on=on)
    assert not (tmp_path / "out").exists()


def test_a_plugin_travels_with_its_text(tmp_path: Path) -> None:
    file = write_plugin(tmp_path, name="traveller")
    (plugin,) = read_plugins([file, file])
    file.unlink()
    import_plugin(plugin)
    assert REGISTRY["traveller"].summary == "for tests"
    file.write_text("another text")
    import_plugin(plugin)  # still what was sent
    with pytest.raises(UserError, match="SyntaxError"):
        import_plugin(Plugin(str(tmp_path / "none.py"), b"no python at all"))
    with pytest.raises(UserError, match="cannot be read"):
        read_plugins([tmp_path / "none.py"])


SCRIPT = """
from wattpack.experiments.compare import compare
print("once")
found = compare({nodes!r}, [{tasks!r}], ["fgd"], seeds=3, out={out!r}, on="processes", workers=2)
print(found.outcome.done, found.outcome.failed)
"""


def test_a_script_without_a_main_guard_is_not_run_again_by_the_workers(tmp_path: Path) -> None:
    nodes, tasks = tmp_path / "nodes.csv", tmp_path / "tasks.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\na,96000,393216,8,G2\n")
    tasks.write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\nx,1000,0,1,500\n")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(nodes=str(nodes), tasks=str(tasks), out=str(tmp_path / "out")))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("once\n3 []\n", 0), done.stderr


def test_processes_do_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, signal, sys, multiprocessing\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from experiments.small import small_experiment\n"
        "from wattpack.experiments.runner import run_experiment\n"
        "def report(done, everything, what):\n"
        "    if done == 2:\n"
        "        print(*[p.pid for p in multiprocessing.active_children()], flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        f"run_experiment(small_experiment(seeds=9), {str(tmp_path / 'out')!r}, report, on='processes', workers=2)\n"
    )
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    out, _ = process.communicate(timeout=120)  # ends when the workers, which hold the pipe too, have ended
    assert process.returncode == -signal.SIGKILL
    for pid in map(int, out.split()):
        assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()
