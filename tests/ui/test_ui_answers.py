"""Map, why and ask: the numbers are those of the run, of `explain` and of the engine."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wattpack as wp
from cli.files import write_nodes, write_tasks, write_timed_tasks
from wattpack.cli import main
from wattpack.errors import UserError
from wattpack.policies.expression import parse
from wattpack.ui.ask import ask
from wattpack.ui.before import before
from wattpack.ui.map_events import events_of
from wattpack.ui.map_payload import map_payload
from wattpack.ui.sources import Sources
from wattpack.ui.why import why
from wattpack.ui.wire import AskRequest, MapRequest, TaskFields, WhyRequest

pytestmark = pytest.mark.compiled
KINDS = {"uint8": "u1", "int8": "i1", "uint16": "u2", "int32": "i4", "uint32": "u4", "float32": "f4", "float64": "f8"}


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    tasks, timed = write_tasks(tmp_path), write_timed_tasks(tmp_path)
    return Sources(tmp_path / "out", [write_nodes(tmp_path)], [tasks, timed])


def scene(sources: Sources, **more: Any) -> dict[str, Any]:
    return {"datacenter": next(iter(sources.datacenters)), "trace": next(iter(sources.traces)), "seed": None, **more}


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length])
    arrays = {
        name: np.frombuffer(data, KINDS[own["kind"]], own["count"], 4 + length + own["at"])
        for name, own in header["arrays"].items()
    }
    return header, arrays


def state_at(header: dict[str, Any], arrays: dict[str, np.ndarray], frame: int) -> dict[str, np.ndarray]:
    """The nodes after a frame, as the page's script replays them."""
    nodes, found = len(header["names"]), {}
    for name in ("Used", "Cpu", "Watts", "Lost", "State", "Owner"):
        rows = arrays[f"first{name}"].reshape(nodes, -1).copy()
        changes = arrays[f"change{name}"].reshape(len(arrays["changeNode"]), -1)
        for i in range(int(arrays["frameStart"][frame])):
            rows[arrays["changeNode"][i]] = changes[i]
        found[name] = rows
    return found


def test_the_map_at_each_arrival_adds_up_to_what_the_run_recorded(sources: Sources) -> None:
    request = MapRequest(**scene(sources, policy="pwr", seed=3))
    header, arrays = unpacked(map_payload(events_of(request, sources)))
    nodes, trace = next(iter(sources.datacenters)), next(iter(sources.traces))
    run = wp.simulate(nodes, trace, "pwr", seed=3)
    frames = header["frames"]
    assert 0 < frames <= len(run)  # the map ends at load 1, the run at 1.3
    totals = arrays["totals"].reshape(frames + 1, 4)
    assert np.array_equal(totals[1:, 0], run.power_w[:frames])
    assert np.array_equal(totals[1:, 1] * 1000, run.allocated_milli[:frames])
    assert np.allclose(totals[1:, 2] * 1000, run.fragmentation_milli[:frames], rtol=0, atol=1e-9)
    assert np.array_equal(arrays["at"][1:], run.load[:frames])
    assert np.array_equal(arrays["failed"][1:], run.failed[:frames])
    for frame in (0, 1, frames // 2, frames):
        state = state_at(header, arrays, frame)
        assert state["Watts"].sum() == pytest.approx(totals[frame, 0], rel=1e-6)
        assert state["Used"].sum() == totals[frame, 1] * 1000
        assert state["Lost"].sum() / 1000 == pytest.approx(totals[frame, 2], abs=0.02)
        assert np.array_equal(state["Owner"] > 0, state["Used"] > 0)  # a GPU in use has an owner
        assert (state["State"] == header["states"].index("awake")).all()


def test_the_map_over_time_lets_tasks_go_and_draws_what_the_run_draws(sources: Sources) -> None:
    timed = list(sources.traces)[1]
    request = MapRequest(**scene(sources, trace=timed, policy="fgd", over="time"))
    header, arrays = unpacked(map_payload(events_of(request, sources)))
    run = wp.simulate(next(iter(sources.datacenters)), timed, "fgd", queue="backfill")
    totals = arrays["totals"].reshape(header["frames"] + 1, 4)
    record = run.record
    held = np.searchsorted(record.moment_s, arrays["at"][1:], side="right") - 1
    assert np.array_equal(totals[1:, 0], record.moment_w[held])
    assert totals[:, 3].max() > totals[-1, 3]  # tasks have left
    assert (arrays["eventSign"] < 0).any()
    last = state_at(header, arrays, header["frames"])
    assert np.array_equal(last["Owner"] > 0, last["Used"] > 0)


def test_the_map_has_every_nodes_state_of_sleep_and_draws_what_the_run_draws(sources: Sources) -> None:
    told = {"load": 0.2, "days": 0.5, "sleep": "idle=10m,wake=4m,reserve=0"}
    request = MapRequest(**scene(sources, trace="default", policy="ocs", seed=1, over="time", **told))
    header, arrays = unpacked(map_payload(events_of(request, sources)))
    frames, states = header["frames"], header["states"]
    nodes = next(iter(sources.datacenters))
    run = wp.simulate(nodes, "default", "ocs", seed=1, queue="backfill", sample_s=0.5 * 86400 / frames, **told)
    at, in_state = arrays["at"], arrays["inState"].reshape(frames + 1, len(states))
    place = np.abs(run.record.mark_s[:, None] - at[None, :]).argmin(axis=0)
    assert np.allclose(run.record.mark_s[place], at, atol=1e-6)
    assert np.array_equal(in_state[:, states.index("asleep")], run.asleep_nodes[place])
    moving = in_state[:, states.index("waking")] + in_state[:, states.index("shutting down")]
    assert np.array_equal(moving, run.transition_nodes[place])
    totals = arrays["totals"].reshape(frames + 1, 4)
    assert np.array_equal(totals[1:, 0], run.record.power_w[place[1:]])  # frame 0: before the first task has come
    assert header["sleeps"]
    assert len({tuple(row) for row in in_state.tolist()}) > 3  # nodes have slept and woken
    for frame in range(0, frames + 1, 50):
        state = state_at(header, arrays, frame)
        assert np.array_equal(np.bincount(state["State"].ravel(), minlength=4), in_state[frame])
        assert state["Watts"].sum() == pytest.approx(totals[frame, 0], rel=1e-6)
        assert not state["Used"][state["State"].ravel() != states.index("awake")].any()
    assert len(run.record.sleep_changes) == 0  # nobody else asked for them


def test_many_tasks_are_drawn_in_few_frames(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wattpack.ui.map_events.MOST_FRAMES", 3)
    monkeypatch.setattr("wattpack.ui.map_events.FRAMES_OF_MANY", 2)
    header, arrays = unpacked(map_payload(events_of(MapRequest(**scene(sources, policy="fgd")), sources)))
    assert header["frames"] == 2
    assert arrays["ends"].tolist() == [0, 3, 7]
    state = state_at(header, arrays, 2)
    assert state["Used"].sum() == arrays["totals"].reshape(3, 4)[2, 1] * 1000


@pytest.mark.parametrize("policy", ["ocs", "pwr:0.1+fgd:0.9"])
def test_why_says_what_explain_prints(sources: Sources, policy: str, capsys: Any) -> None:
    found = why(WhyRequest(**scene(sources, policy=policy, task="share-2")), sources)
    nodes, tasks = next(iter(sources.datacenters)), next(iter(sources.traces))
    main(["explain", "--nodes", nodes, "--tasks", tasks, "--policy", policy, "--task", "share-2"])
    printed = capsys.readouterr().out
    assert f"decision: node {found.node}, GPU {found.gpus}" in printed
    assert f"{found.fitting} nodes fit" in printed
    for node in found.nodes:
        row = re.search(rf"^ {node.node}(?: <-)? +│(.*)$", printed, re.MULTILINE)
        assert row is not None
        numbers = [float(cell) for cell in re.findall(r"-?[0-9.]+(?:e[+-]?\d+)?", row[1])]
        shown = [value for scores in node.scores for value in scores] + [node.total]
        assert numbers == [float(f"{value:g}") for value in shown]
    assert found.number == 3
    assert [step for step, _ in found.steps] == ["filter", "score", "normalise", "combine", "choose", "pick"]


TIMED = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,duration
a,1000,1000,2,1000,T4,0,3000
b,1000,1000,1,500,,10,500
c,1000,1000,4,1000,,20,100
d,1000,1000,1,500,,30,9000
e,1000,1000,8,1000,G2,40,400
f,1000,1000,8,1000,G2,50,100
g,1000,1000,8,1000,G2,60,100
late,1000,1000,1,500,,7000,100
"""


@pytest.mark.parametrize("sleep", ["", "idle=5m,wake=4m,reserve=0"])
@pytest.mark.parametrize("policy", ["ocs", "pwr:0.1+fgd:0.9"])
def test_why_in_time_says_what_explain_prints_of_the_same_decision(
    tmp_path: Path, policy: str, sleep: str, capsys: Any
) -> None:
    """Task g waits until e or f has left; with sleep, `late` comes when nodes are asleep."""
    tasks = tmp_path / "timed.csv"
    tasks.write_text(TIMED)
    nodes = write_nodes(tmp_path)
    sources = Sources(tmp_path / "out", [nodes], [str(tasks)])
    for task in ("a", "d", "g", "late"):
        found = why(WhyRequest(**scene(sources, policy=policy, task=task, over="time", sleep=sleep)), sources)
        words = ["explain", nodes, str(tasks), "--policy", policy, "--task", task, "--at", "2h"]
        main([*words, *(("--sleep", sleep) if sleep else ())])
        printed = capsys.readouterr().out
        assert f"decision: node {found.node}, GPU {found.gpus}" in printed
        assert f"{found.fitting} {'node fits' if found.fitting == 1 else 'nodes fit'}" in printed
        clock = re.search(r"\(([0-9,]+) s\)", found.when)
        assert clock is not None
        assert f", at {clock[1]} s, policy" in printed
        for node in found.nodes:
            row = re.search(rf"^ {node.node}(?: <-)? +│(.*)$", printed, re.MULTILINE)
            assert row is not None
            numbers = [float(cell) for cell in re.findall(r"-?[0-9.]+(?:e[+-]?\d+)?", row[1])]
            longer = [] if node.longer_w is None else [round(node.longer_w, 1)]
            shown = [float(f"{value:g}") for scores in node.scores for value in scores]
            assert numbers == [*shown, *longer, float(f"{node.total:g}")]
        assert [step for step, _ in found.steps] == ["filter", "score", "normalise", "combine", "choose", "pick"]
        assert ("waited" in found.when) == (task == "g")
        assert {other.policy for other in found.others if other.cost is not None} == {"fgd", "pwr", "bestfit"}


@pytest.mark.parametrize("sleep", ["", "idle=10m,wake=4m,reserve=0"])
def test_why_in_time_is_the_decision_of_simulate(sources: Sources, sleep: str) -> None:
    """Of tasks that are drawn: node and GPUs are those of the run, and its own policy decides alike in `under`."""
    told = {"load": 0.4, "days": 0.2, "sleep": sleep}
    nodes = next(iter(sources.datacenters))
    run = wp.simulate(nodes, "default", "pwr", seed=3, queue="backfill", **{**told, "sleep": sleep or None})
    record = run.record
    for i in np.flatnonzero(record.node >= 0)[::4].tolist():
        request = WhyRequest(
            **scene(sources, trace="default", policy="pwr", seed=3, over="time", task=str(i + 1), **told)
        )
        then = before(request, sources)
        assert (then.found.node, then.found.gpus) == (record.node[i], record.gpus[i])
        engine, same = then.under(parse("pwr"))
        assert (same.node, same.gpus) == (record.node[i], record.gpus[i])
        for column in ("cpu_left", "memory_left", "gpu_left", "tasks"):
            assert np.array_equal(engine.state.nodes[column], then.engine.state.nodes[column])


def test_a_task_that_starts_nowhere_in_time_is_one_line(sources: Sources) -> None:
    timed = list(sources.traces)[1]
    with pytest.raises(UserError, match=r"task '99': not in this run"):
        why(WhyRequest(**scene(sources, trace=timed, over="time", task="99")), sources)


def test_the_terms_of_ocs_add_up_to_its_score(sources: Sources) -> None:
    found = why(WhyRequest(**scene(sources, policy="ocs", task="3")), sources)
    assert found.components[0].terms[0] == "power"
    for node in found.nodes:
        assert sum(node.terms[0]) == pytest.approx(node.scores[0][0])


def test_why_says_of_numbered_terms_what_explain_says(sources: Sources, capsys: Any) -> None:
    found = why(WhyRequest(**scene(sources, policy="ocs", task="3")), sources)
    nodes, tasks = next(iter(sources.datacenters)), next(iter(sources.traces))
    main(["explain", "--nodes", nodes, "--tasks", tasks, "--policy", "ocs", "--task", "share-2"])
    printed = re.findall(r"^((?:slots|scarce|reserved)_\d+): (.*)$", capsys.readouterr().out, re.MULTILINE)
    assert printed
    assert set(printed) <= set(found.meanings.items())
    assert set(found.meanings) <= set(found.components[0].terms)


def test_a_task_that_fits_nowhere_has_its_reasons_and_no_node(sources: Sources) -> None:
    found = why(WhyRequest(**scene(sources, policy="fgd", task="never")), sources)
    assert (found.node, found.nodes, found.fitting) == ("", [], 0)
    assert found.reasons == {"GPU model not allowed by the task": 3}
    assert [other.cost for other in found.others] == [None, None, None]


def test_what_others_would_have_done_is_their_own_decision_in_the_same_datacenter(sources: Sources) -> None:
    """The first task comes to an empty datacenter, which is the same under every policy."""
    for policy in ("fgd", "pwr", "bestfit"):
        own = why(WhyRequest(**scene(sources, policy=policy, task="1")), sources)
        other = next(
            row
            for row in why(WhyRequest(**scene(sources, policy="ocs", task="1")), sources).others
            if row.policy == policy
        )
        assert (other.node, other.gpus) == (own.node, own.gpus)
        assert other.cost == next(row.cost for row in own.nodes if row.node == own.node)


def test_the_cost_of_a_task_is_what_the_run_rises_by(sources: Sources) -> None:
    """Watts after the third task less those after the second."""
    found = why(WhyRequest(**scene(sources, policy="fgd", task="#3")), sources)
    run = wp.simulate(next(iter(sources.datacenters)), next(iter(sources.traces)), "fgd")
    chosen = next(row for row in found.nodes if row.node == found.node)
    assert chosen.cost.watts == pytest.approx(run.power_w[2] - run.power_w[1])
    assert chosen.cost.fragmentation_gpus * 1000 == pytest.approx(
        run.fragmentation_milli[2] - run.fragmentation_milli[1]
    )


def test_a_task_that_fits_is_placed_as_the_policy_would(sources: Sources) -> None:
    asked = AskRequest(**scene(sources, policy="fgd", load=0.0, task=TaskFields(32, 64, 8, "")))
    found = ask(asked, sources).now
    assert (found.placed, found.rows[0].node, found.rows[0].gpus) == (1, "g2-a", "0-1-2-3-4-5-6-7")
    first = why(WhyRequest(**scene(sources, policy="fgd", task="eight")), sources)
    assert found.rows[0].cost == first.nodes[0].cost


def test_a_share_is_a_part_of_one_gpu_and_a_pod_is_read_as_the_service_reads_it(sources: Sources) -> None:
    share = ask(AskRequest(**scene(sources, load=0.0, task=TaskFields(4, 8, 0.5, "T4"))), sources)
    assert share.line == "4000 milli-vCPU, 8192 MiB, 1 GPU x 500 milli, model T4"
    assert share.now.rows[0].node == "t4-a"
    limits = "{limits: {nvidia.com/gpu: 2, cpu: '4'}}"
    template = f"{{spec: {{containers: [{{resources: {limits}}}]}}}}"
    text = f"kind: Deployment\nmetadata: {{name: web}}\nspec: {{template: {template}}}"
    pod = ask(AskRequest(**scene(sources, load=0.0, pod=text)), sources)
    assert pod.line == "pod web: 4000 milli-vCPU, 0 MiB, 2 GPU x 1000 milli"
    assert pod.now.placed == 1


def test_what_does_not_fit_is_told_with_what_is_missing_and_fits_when_nodes_come(sources: Sources) -> None:
    """Two of three nodes have 8 GPUs; after the tasks of the file one of them is full, the other is free."""
    task = TaskFields(1, 1, 8, "H100")
    found = ask(AskRequest(**scene(sources, load=1.3, task=task, come=["2xH100-8"])), sources)
    assert found.now.placed == 0
    assert found.now.reasons == {"GPU model not allowed by the task": 3}
    assert found.then is not None
    assert (found.then.nodes, found.then.gpus, found.then.placed) == (5, 36, 1)
    assert found.then.rows[0].type.startswith("8 x H100")


def test_moves_that_make_room_are_named_and_taken_back(tmp_path: Path) -> None:
    """A task on each of two nodes of two GPUs; the second must stay on b. Room for two GPUs: the first moves to b."""
    nodes, tasks = tmp_path / "n.csv", tmp_path / "t.csv"
    nodes.write_text("sn,cpu_milli,memory_mib,gpu,model\na,8000,8192,2,T4\nb,8000,8192,2,G2\n")
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec"
    tasks.write_text(f"{head}\nx,1000,1024,1,1000,\ny,1000,1024,1,1000,G2\n")
    sources = Sources(tmp_path / "out", [str(nodes)], [str(tasks)])
    request = AskRequest(**scene(sources, policy="bestfit", load=1.3, task=TaskFields(1, 1, 2, "")))
    found = ask(request, sources).now
    assert found.placed == 0
    assert [(row.node, row.text) for row in found.nearest] == [(name, "lacks 1 whole free GPU") for name in "ab"]
    assert [(row.node, row.text) for row in found.moves] == [("a", "task 1 would move from a to b")]
    assert ask(request, sources).now == found


def test_a_list_of_tasks_comes_one_after_another(sources: Sources) -> None:
    trace = next(iter(sources.traces))
    found = ask(AskRequest(**scene(sources, policy="fgd", load=0.0, tasks=trace)), sources).now
    run = wp.simulate(next(iter(sources.datacenters)), trace, "fgd")
    assert [row.node for row in found.rows] == [run.node_name(i) for i in range(len(run))]
    assert (found.tasks, found.placed) == (7, 6)
    assert found.cost.watts == pytest.approx(run.power_w[-1] - run.start[3:6].sum() / 1000)


def test_one_question_is_asked_at_a_time(sources: Sources) -> None:
    with pytest.raises(UserError, match="2 of task, pod and tasks are given"):
        ask(AskRequest(**scene(sources, task=TaskFields(), pod="x")), sources)
