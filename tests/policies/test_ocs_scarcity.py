"""Scarcity in `ocs`: which node shapes a class depends on, which sets have a price, and demand that fits nowhere."""

import math

import pytest

from builders import decide, explained, make_datacenter, make_engine, make_node, make_target, make_task, place
from reference import Node, Task
from wattpack.model.power import LINEAR, PAPER
from wattpack.policies.ocs import scarcity
from wattpack.policies.ocs.fleet import fleet_watts, node_shapes, placeable
from wattpack.policies.ocs.layout import MEMORY, PARAM, TERM
from wattpack.policies.ocs.policy import OCS

SMALL, WIDE, EIGHT = make_task(gpu=1, cpu=4), make_task(gpu=1, cpu=24), make_task(gpu=8, cpu=64)


def found(nodes: list[Node], trace: list[Task]) -> dict[tuple[int, ...], tuple[float, float]]:
    """Sets of shapes, as places of the first node of each, with their demand."""
    datacenter = make_datacenter(nodes)
    shapes, of_type = node_shapes(datacenter)
    of_node = of_type[datacenter.types].tolist()
    return {
        tuple(n for n, shape in enumerate(of_node) if one.shapes >> shape & 1): (one.structure, one.named)
        for one in scarcity.dependences(make_target(trace), shapes, datacenter.models)
    }


def test_a_class_depends_on_the_nodes_with_its_gpus_its_vcpu_and_its_models() -> None:
    """Of 4 GPUs asked for, one must be on node 1 (vCPU), one on node 0 (T4); two may be anywhere."""
    nodes = [make_node(gpus=4, cpu=16, model="T4"), make_node(gpus=4, cpu=64), make_node(gpus=0)]
    trace = [SMALL, SMALL, WIDE, make_task(gpu=1, cpu=4, spec="T4")]
    assert found(nodes, trace) == {(1,): (0.25, 0.0), (0,): (0.0, 0.25)}


def test_two_named_sets_that_share_a_model_are_watched_together() -> None:
    """T4 or P100, P100 or G2: P100 is counted for both, so the three together are a set too, but not all there is."""
    nodes = [make_node(model=model) for model in ("T4", "P100", "G2", "G3")]
    trace = [SMALL, make_task(gpu=1, cpu=4, spec="T4|P100"), make_task(gpu=1, cpu=4, spec="P100|G2")]
    third = pytest.approx(1 / 3)
    assert found(nodes, trace) == {(0, 1): (0.0, third), (1, 2): (0.0, third), (0, 1, 2): (0.0, 0.0)}
    assert set(found(nodes[:3], trace)) == {(0, 1), (1, 2)}
    apart = [SMALL, make_task(gpu=1, cpu=4, spec="T4"), make_task(gpu=1, cpu=4, spec="P100|G2")]
    assert set(found(nodes, apart)) == {(0,), (1, 2)}


def test_nodes_alike_in_vcpu_gpus_and_model_are_one_shape() -> None:
    nodes = [make_node(memory_mib=1000), make_node(memory_mib=2000), make_node(model="T4")]
    shapes, of_type = node_shapes(make_datacenter(nodes))
    assert sorted(shape.nodes for shape in shapes) == [1, 2]
    assert len(of_type) == 3


def test_classes_that_fit_no_node_count_nowhere() -> None:
    datacenter = make_datacenter([make_node(gpus=4, cpu=64)])
    shapes, _ = node_shapes(datacenter)
    kept = placeable(make_target([SMALL, SMALL, SMALL, EIGHT]), shapes, datacenter.models)
    assert [(task.num_gpu, task.share) for task in kept.uncut] == [(1, 1.0)]
    all_fit = make_target([SMALL, WIDE])
    assert placeable(all_fit, shapes, datacenter.models) is all_fit
    none_fits = make_target([EIGHT])
    assert placeable(none_fits, shapes, datacenter.models) is none_fits


def test_tasks_of_8_gpus_that_fit_nowhere_change_no_decision() -> None:
    nodes = [make_node(gpus=4, cpu=64, model="T4"), make_node(gpus=4, cpu=64)]
    with_them = make_engine(nodes, [SMALL], "ocs", trace=[SMALL] + [EIGHT] * 3)
    without = make_engine(nodes, [SMALL], "ocs", trace=[SMALL])
    seen = [explained(engine, SMALL).priced.sum(axis=0).tolist() for engine in (with_them, without)]
    assert seen[0] == seen[1]


def test_a_frugal_node_is_left_to_the_tasks_of_8_gpus_that_fit_nowhere_else() -> None:
    """8 of 9 GPUs are asked for in eights, and only node 0 has eight: a small task goes to the node that draws more."""
    nodes = [make_node(gpus=8, cpu=128, model="T4"), make_node(gpus=4, cpu=128, model="G3")]
    assert decide(make_engine(nodes, [SMALL], "ocs", trace=[SMALL]), SMALL)[0] == 0
    assert decide(make_engine(nodes, [SMALL], "ocs", trace=[SMALL, EIGHT]), SMALL)[0] == 1


def test_the_only_node_with_enough_vcpu_is_left_to_the_tasks_that_need_it() -> None:
    nodes = [make_node(gpus=4, cpu=128, model="T4"), make_node(gpus=4, cpu=16, model="G3")]
    assert decide(make_engine(nodes, [SMALL], "ocs", trace=[SMALL]), SMALL)[0] == 0
    assert decide(make_engine(nodes, [SMALL], "ocs", trace=[SMALL] * 2 + [WIDE] * 3), SMALL)[0] == 1


def test_demand_beyond_what_its_nodes_can_hold_makes_no_other_node_scarce() -> None:
    """T4 is asked for four times over. A class may use T4 or P100: without the cap its set would be short too."""
    nodes = [make_node(gpus=2, model="T4"), make_node(gpus=8, model="P100"), make_node(gpus=8, model="G3")]
    trace = [make_task(gpu=1, cpu=4, spec="T4")] * 8 + [make_task(gpu=1, cpu=4, spec="T4|P100"), SMALL]
    engine = make_engine(nodes, [SMALL], "ocs@1", trace=trace)
    scarce = -explained(engine, SMALL).priced[TERM.scarce : TERM.stranded].sum(axis=0)
    assert scarce[0] > 100
    assert scarce[1] < 1
    assert scarce[2] == 0


def test_a_set_that_little_is_asked_of_has_no_price() -> None:
    datacenter = make_datacenter([make_node(gpus=8, cpu=128), make_node(gpus=4, cpu=128, model="T4")])
    params = OCS.prepare(datacenter, make_target([SMALL] * 80 + [EIGHT]), PAPER)
    assert params[PARAM.set_count] == 0
    assert params[PARAM.end :].tolist() == [-1, -1]


@pytest.mark.parametrize(("others", "watched"), [(9, 1), (99, 1), (199, 0)])
def test_a_set_that_a_few_tasks_name_has_a_price(others: int, watched: int) -> None:
    """One GPU in 10, 100 or 200 is asked for on T4, which are 8 of 12. Of other sets 10 % would be too little."""
    datacenter = make_datacenter([make_node(gpus=8, cpu=128, model="T4"), make_node(gpus=4, cpu=128)])
    named = [SMALL] * others + [make_task(gpu=1, cpu=4, spec="T4")]
    params = OCS.prepare(datacenter, make_target(named), PAPER)
    assert params[PARAM.set_count] == watched
    if watched:
        assert params[PARAM.set_named] == pytest.approx(1 / (others + 1))


def test_a_knob_above_1_keeps_named_models_for_more_tasks_than_expected() -> None:
    """A tenth of the demand names T4, whose 8 GPUs are free but for one; u is 1 of 12."""
    nodes = [make_node(gpus=8, cpu=128, model="T4"), make_node(gpus=4, cpu=128, model="G3")]
    trace = [SMALL] * 9 + [make_task(gpu=1, cpu=4, spec="T4")]
    _, spread_w = fleet_watts(make_datacenter(nodes), PAPER)
    for knob, margin in ((1, 0), (3, 2), (11, 3)):
        engine = make_engine(nodes, [SMALL], f"ocs@{knob}", trace=trace)
        place(engine, SMALL, 0, (0,))
        named = 0.1 * 11  # of the 11 GPUs that are still to fill
        short = (named + margin * math.sqrt(named)) / engine.state.memory[MEMORY.set_usable]
        price = 1.5 * spread_w * short**20 if short > 0.3 else 0.0
        assert -explained(engine, SMALL).priced[TERM.scarce : TERM.stranded].sum(axis=0)[0] == pytest.approx(price)


def test_a_task_without_gpu_pays_for_the_gpus_of_a_scarce_model_that_it_leaves_without_vcpu() -> None:
    nodes = [make_node(gpus=8, cpu=64, model="T4"), make_node(gpus=8, cpu=512, model="G3")]
    named, no_gpu = make_task(gpu=1, cpu=8, spec="T4"), make_task(gpu=0, cpu=32)
    engine = make_engine(nodes, [no_gpu], "ocs@1", trace=[SMALL, named, no_gpu])
    scarce = -explained(engine, no_gpu).priced[TERM.scarce : TERM.stranded].sum(axis=0)
    assert scarce[0] > 1
    assert scarce[1] == 0


def test_of_too_many_sets_those_are_watched_of_which_most_is_asked_for() -> None:
    """Twelve sets of one shape, and eight groups at most: the later ones are asked for more, although all are small."""
    sets = [scarcity.Dependence(1 << place, 0.0, 0.01 * (place + 1)) for place in range(12)]
    usable = [10.0 * (place + 1) / (1 + place / 12) for place in range(12)]
    kept = scarcity.watched_sets(sets, usable, 1000.0)
    assert [one.shapes for one in kept] == [1 << place for place in range(11, 3, -1)]


def test_demand_beyond_a_set_counts_in_larger_sets_as_far_as_the_set_can_hold_it() -> None:
    """T4 can hold all that names it, or a third of it; a class may use T4 or P100, and T4 is full."""
    nodes = [make_node(gpus=4, model="T4"), make_node(gpus=4, model="P100"), make_node(gpus=8, model="G3")]
    named, either = make_task(gpu=1, cpu=4, spec="T4"), make_task(gpu=1, cpu=4, spec="T4|P100")
    costs = []
    for trace in ([named, either, SMALL, SMALL], [named] * 10 + [either, SMALL] * 2):
        engine = make_engine(nodes, [SMALL, named], "ocs@1", trace=trace)
        for gpu in range(4):
            place(engine, named, 0, (gpu,))
        costs.append(-explained(engine, SMALL).priced[TERM.scarce : TERM.stranded].sum(axis=0)[1])
    assert costs[0] > 100 * costs[1] > 0
    assert [scarcity.still_counts(asked) for asked in (0.0, 1.0, 1.3, 2.6)] == [1, 1, 1, 1 / 16]


def test_the_watts_of_a_fleet_are_those_of_its_mean_gpu_and_of_its_extremes() -> None:
    """6 T4 of 60 W and 2 G3 of 350 W above idle; a socket is 105 W."""
    nodes = [make_node(gpus=6, model="T4"), make_node(gpus=2, model="G3"), make_node(gpus=0)]
    assert fleet_watts(make_datacenter(nodes), PAPER) == pytest.approx((132.5, 395))
    assert fleet_watts(make_datacenter(nodes), LINEAR) == pytest.approx((132.5, 395))
    assert fleet_watts(make_datacenter([make_node(gpus=0)]), PAPER) == (0, 105)


def test_fragments_count_only_where_vcpu_is_short() -> None:
    """A task takes 12 vCPU per GPU. With 8 vCPU a GPU two thirds of the GPUs can be used, with 16 all."""
    trace = [make_task(gpu=1, cpu=12)]
    for vcpu, expected in ((64, 1.0), (128, 0.0)):
        params = OCS.prepare(make_datacenter([make_node(gpus=8, cpu=vcpu)]), make_target(trace), PAPER)
        assert params[PARAM.fragments] == expected
    engine = make_engine([make_node(gpus=8, cpu=64)], trace, "ocs", trace=trace)
    place(engine, trace[0], 0, (0,))
    assert explained(engine, trace[0]).priced[TERM.fragments, 0] <= 0
