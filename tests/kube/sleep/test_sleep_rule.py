"""The live rule is that of a simulated run, and power-using policies see nodes as it does."""

from __future__ import annotations

import numpy as np

from builders import make_engine, make_node, make_task
from kube.api_in_memory import in_a_loop
from kube.sleep.made import World
from wattpack.engine.moments.options import Sleep
from wattpack.engine.moments.sleep_run import new_sleep_run
from wattpack.kube.sleep.states import State


@in_a_loop
async def test_order_reserve_and_idle_times_are_those_of_a_simulated_run_on_the_same_nodes() -> None:
    shapes = [("n0", 2, "T4"), ("n1", 8, "A100"), ("n2", 4, "V100M16"), ("n3", 2, "T4")]
    world = World(machines=0, reserve="30%", idle="auto")
    for name, gpus, model in shapes:
        world.add(name, gpus=gpus, model=model)
    await world.start()
    await world.step()
    pool, engine = world.keeper.sight.pool, world.service.view.cluster.engine()
    assert pool is not None
    assert engine is not None
    assert engine is pool.engine
    run = new_sleep_run(engine.state, Sleep(reserve_gpus=5))  # 30 % of 16, rounded up
    np.testing.assert_array_equal(pool.order, run.order)
    np.testing.assert_array_equal(pool.idle_mw, run.nodes.idle_mw)
    np.testing.assert_array_equal(pool.asleep_mw, run.nodes.asleep_mw)
    np.testing.assert_array_equal(pool.idle_s, run.nodes.idle_s)
    assert pool.reserve_gpus == run.reserve_gpus


@in_a_loop
async def test_a_policy_that_uses_power_sees_an_empty_node_as_asleep_where_sleep_acts() -> None:
    """Half a GPU on the node in use adds less than waking an empty one; without sleep an equal node costs the same."""
    for mode, counted in (("act", True), ("advise", False)):
        world = World(machines=2, mode=mode)
        world.api.add_pod("busy", node="n1", index="0")
        await world.start(policy="pwr")
        await world.step()
        nodes = world.service.view.cluster.engine().state.nodes  # type: ignore[union-attr]
        index = world.service.view.cluster.index
        wake_w = {name: int(nodes[index[name]].wake_mw) / 1000 for name in ("n0", "n1")}
        idle_w = int(world.keeper.sight.pool.idle_mw[index["n0"]]) / 1000  # type: ignore[union-attr]
        assert wake_w == {"n0": idle_w - 10 if counted else 0.0, "n1": 0.0}
        if counted:
            assert await world.place(world.api.add_pod("next")) == "n1"


@in_a_loop
async def test_a_daemon_does_not_make_a_node_awake_for_policies() -> None:
    world = World(machines=1)
    world.api.add_pod("daemon", milli=0, count=0, node="n0")
    world.api.pods["daemon"]["metadata"]["ownerReferences"] = [{"kind": "DaemonSet"}]
    await world.start()
    await world.step()
    nodes = world.service.view.cluster.engine().state.nodes  # type: ignore[union-attr]
    assert int(nodes[0].wake_mw) > 0


@in_a_loop
async def test_nodes_asleep_draw_what_they_draw_asleep() -> None:
    world = await World(machines=2, reserve=2).start()
    awake_w = world.service.view.cluster.power_w()
    await world.step_until_asleep("n0")
    pool = world.keeper.sight.pool
    assert pool is not None
    saved_w = pool.saved_w(["n0"])
    assert world.service.view.cluster.power_w() == awake_w - saved_w
    assert world.states() == [State.ASLEEP, State.AWAKE]


def test_an_engine_of_a_run_without_sleep_counts_no_wake() -> None:
    engine = make_engine([make_node(), make_node()], [make_task(gpu=0.5, cpu=1)], "pwr")
    assert engine.state.nodes.wake_mw.tolist() == [0, 0]
