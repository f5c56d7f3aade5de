"""What is shown: `/sleep` as the OpenAPI document says, metrics by their names, the dry run in words."""

from __future__ import annotations

from kube.api_in_memory import in_a_loop
from kube.sleep.made import World
from kube.test_openapi import answer_schema, faults
from wattpack.kube.gauges import gauges
from wattpack.kube.metrics import METRICS
from wattpack.kube.sleep.dry_run import dry_run
from wattpack.kube.sleep.record import ASK
from wattpack.kube.sleep.status import status_of


@in_a_loop
async def test_the_status_says_who_sleeps_why_and_what_is_saved() -> None:
    world = await (await World(machines=2, reserve=2).start()).step_until_asleep("n0")
    status = status_of(world.keeper)
    assert faults(status, answer_schema("get", "/sleep")) == []
    asleep, awake = status["nodes"]
    assert (asleep["state"], asleep["why"]) == ("asleep", "empty for 10m")
    assert "kubectl uncordon n0" in asleep["undo"]
    assert status["saved_w"] == asleep["idle_w"] - asleep["asleep_w"]
    assert (awake["state"], awake["would_sleep"], status["free_gpus"]) == ("awake", False, 2)


@in_a_loop
async def test_advise_says_what_it_would_switch_off_and_what_that_saves() -> None:
    world = await World(machines=3, reserve=2, mode="advise").start()
    await world.step()
    await world.step(600)
    status = status_of(world.keeper)
    assert [row["node"] for row in status["nodes"] if row["would_sleep"]] == ["n0", "n1"]
    assert status["would_save_w"] == 2 * (status["nodes"][0]["idle_w"] - 10)
    assert (status["saved_w"], status["acting"]) == (0.0, False)


@in_a_loop
async def test_every_gauge_has_a_name_in_the_list_and_counts_nodes_by_state() -> None:
    world = await (await World(machines=2, reserve=2).start()).step_until_asleep("n0")
    rows = gauges(world.service)
    assert set(rows) <= set(METRICS)
    counts = {labels[0][1]: value for labels, value in rows["wattpack_sleep_nodes"]}
    assert (counts["asleep"], counts["awake"]) == (1, 1)
    text = world.service.metrics.text(rows)
    assert 'wattpack_sleep_changes_total{to="asleep"} 1' in text
    assert 'wattpack_power_watts{node="n0"} 10' in text


@in_a_loop
async def test_a_dry_run_says_what_a_section_would_do_and_changes_nothing() -> None:
    world = await (await World(machines=4, reserve=2, at_most=1).start()).step_until_asleep("n0")
    before = list(world.api.patches)
    other = World(machines=0, reserve=0, nodes="pool=none").config
    lines = dry_run(world.service.view, other)
    assert lines[0] == "sleep: act; 'pool=none' selects 0 of 4 nodes"
    assert lines[-1] == "  would wake 1 node no longer selected (n0)"
    now = dry_run(world.service.view, World(machines=0, reserve="50%").config)
    assert "would switch off 1 node, at most 5 at once" in now[2]
    assert world.api.patches == before


@in_a_loop
async def test_a_node_that_a_person_holds_is_shown_as_held() -> None:
    world = World(machines=1)
    world.api.annotate("n0", ASK, "hold")
    await world.start()
    await world.step()
    await world.step(6000)
    (row,) = status_of(world.keeper)["nodes"]
    assert (row["held"], row["state"], row["would_sleep"]) == (True, "awake", False)
