"""OCS: decisions and memory equal those of a plain version that computes every quantity from scratch."""

import math
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from builders import (
    arrive,
    decide,
    explained,
    make_datacenter,
    make_engine,
    make_node,
    make_target,
    make_task,
    place,
    release,
)
from churn import Churn, Placed, churns
from cli.files import write_nodes, write_tasks
from reference import Gpus, Node, TargetClass, Task
from wattpack.cli import main
from wattpack.engine.core.choose import choose
from wattpack.errors import UserError
from wattpack.experiments.digests import policy_digest
from wattpack.experiments.policy_check.check import check_policy
from wattpack.experiments.policy_check.history import small_datacenter, small_workload
from wattpack.experiments.simulate import simulate
from wattpack.jit import kernel
from wattpack.model.power import PAPER
from wattpack.model.target import TargetClass as ModelClass
from wattpack.policies.expression import parse
from wattpack.policies.ocs import policy as ocs
from wattpack.policies.ocs import prices as ocs_prices
from wattpack.policies.ocs import statistics
from wattpack.policies.ocs.layout import MEMORY, PARAM, TERM

HALF, WHOLE, PAIR = make_task(gpu=0.5, cpu=4), make_task(gpu=1, cpu=8), make_task(gpu=2, cpu=16)


# ---- the same from scratch -------------------------------------------------------------------------------------------


Shape = tuple[int, int, str]  # milli-vCPU, GPUs, model


class Statistics(NamedTuple):
    worth: list[float]
    kappa: list[float]
    sizes: dict[int, tuple[float, float]]  # s -> c_s in milli, d_s
    sets: dict[frozenset[Shape], tuple[float, float]]  # A -> demand by structure and by named models; small ones first
    beyond: dict[frozenset[Shape], float]  # A -> share of demand beyond what is free on A that counts in larger sets
    constrained: bool
    target: list[TargetClass]  # without the classes that fit no node
    cut: list[TargetClass]  # M, for F
    middle_w: float  # of the GPU in the middle by watts
    gpu_w: float  # of a GPU, mean
    spread_w: float
    gpus_per_vcpu: float  # per milli
    capacity: float
    fragments: float


def effective(task: TargetClass, worth: list[float]) -> float:
    return worth[task.gpu_milli] if task.num_gpu == 1 else task.num_gpu


def plain_statistics(nodes: list[Node], trace: list[Task]) -> Statistics:
    """From V on; V itself has tests of its own."""
    counts = Counter((t.cpu_milli, reference.gpu_milli_each(t), t.num_gpu, t.gpu_spec) for t in trace)
    ranked = sorted(counts, key=lambda c: (counts[c], c[0], c[1], c[2], c[3].encode()), reverse=True)
    target = [TargetClass(*c, p=counts[c] / len(trace)) for c in ranked]  # not cut at 95 % as FGD's is
    held = [task for task in target if any(can_hold(shape_of(node), task) for node in nodes)]
    if held and len(held) < len(target):
        total = sum(task.p for task in held)
        target = [task._replace(p=task.p / total) for task in held]
    of_target = tuple(ModelClass(t.cpu_milli, t.gpu_milli, t.num_gpu, t.gpu_spec, t.p) for t in target)
    worth = statistics.gpu_worth(of_target).tolist()
    asked = [task.p * effective(task, worth) for task in target]
    demand = [share / sum(asked) if sum(asked) > 0 else 0.0 for share in asked]
    pairs = sorted(
        (task.cpu_milli / 1000 / effective(task, worth), d) for task, d in zip(target, demand, strict=True) if d > 0
    )
    kappa = []
    for q in range(20):
        below, at = 0.0, -1
        while at + 1 < len(pairs) and below < (q + 0.5) / 20:
            at += 1
            below += pairs[at][1]
        kappa.append(max(0.5, pairs[at][0]) if pairs else 0.5)
    found = {task.num_gpu for task in target if task.num_gpu > 1}
    weight = {s: sum(d for task, d in zip(target, demand, strict=True) if task.num_gpu == s) for s in found}
    sizes = {}
    for s in sorted(sorted(sorted(found, key=[t.num_gpu for t in target].index), key=lambda s: -weight[s])[:4]):
        p = sum(task.p for task in target if task.num_gpu == s)
        cpu = sum(task.p * task.cpu_milli for task in target if task.num_gpu == s) / p
        sizes[s] = max(cpu, 1.0), sum(weight[other] for other in found if other >= s)
    gpus, vcpu = sum(node.gpu for node in nodes), sum(node.cpu_milli for node in nodes)
    asked_gpu, asked_vcpu = sum(asked), sum(task.p * task.cpu_milli for task in target)
    gpus_per_vcpu = asked_gpu / asked_vcpu if asked_gpu > 0 and asked_vcpu > 0 else 1.0
    capacity = min(gpus, vcpu * gpus_per_vcpu)
    watts = sorted(max_w(node.model) for node in nodes for _ in range(node.gpu))
    usable = [(shape_of(n), sum(min(n.gpu, n.cpu_milli / 1000 / k) for k in kappa) / 20) for n in nodes]
    fragments = min(1.0, max(0.0, (0.9 - sum(found for _, found in usable) / gpus) / 0.1)) if gpus else 0.0
    found = dependences(nodes, target, demand)
    sets = watched(found, usable, capacity)
    return Statistics(
        worth,
        kappa,
        sizes,
        sets,
        {a: min(1.0, 1 / share_asked(a, sets, usable, capacity)) ** 2 for a in sets},
        any(named > 0 for _, named in found.values()),
        target,
        reference.target_workload(trace),
        watts[reference.ceil_div(len(watts), 2) - 1] if watts else 0.0,
        sum(watts) / len(watts) if watts else 0.0,
        105 + (max(watts) - min(watts) if watts else 0.0),
        gpus_per_vcpu,
        capacity,
        fragments,
    )


def shape_of(node: Node) -> Shape:
    return node.cpu_milli, node.gpu, node.model


def can_hold(shape: Shape, task: TargetClass, any_model: bool = False) -> bool:
    cpu_milli, gpus, model = shape
    allowed = any_model or reference.model_allowed(model, task.gpu_spec)
    return allowed and gpus >= task.num_gpu and cpu_milli >= task.cpu_milli


Demands = dict[frozenset[Shape], tuple[float, float]]


def dependences(nodes: list[Node], target: list[TargetClass], demand: list[float]) -> Demands:
    """Per set of shapes the demand that only these can hold: because of GPUs or vCPU, because of named models."""
    shapes = {shape_of(node) for node in nodes}
    found: Demands = {}
    for task, d in zip(target, demand, strict=True):
        holding = frozenset(shape for shape in shapes if can_hold(shape, task))
        if task.num_gpu > 0 and holding and holding != {shape for shape in shapes if shape[1] > 0}:
            structure, named = found.get(holding, (0.0, 0.0))
            by_structure = holding == {shape for shape in shapes if can_hold(shape, task, any_model=True)}
            found[holding] = (structure + d, named) if by_structure else (structure, named + d)
    return found


def share_asked(a: frozenset[Shape], found: Demands, usable: list[tuple[Shape, float]], capacity: float) -> float:
    asked = sum(sum(both) for b, both in found.items() if b <= a) * capacity
    return asked / sum(gpus for shape, gpus in usable if shape in a)


def watched(found: Demands, usable: list[tuple[Shape, float]], capacity: float) -> Demands:
    """The sets of which at least 0.3 may be asked for, or 0.1 where models are named, each with the demand that no
    smaller one of them has."""
    kept: list[frozenset[Shape]] = []
    for a in found:
        named = any(found[b][1] > 0 for b in found if b <= a)
        if share_asked(a, found, usable, capacity) > (0.1 if named else 0.3):
            kept.append(a)
    own = {a: [b for b in found if b <= a and not any(b <= c < a for c in kept)] for a in kept}
    return {a: (sum(found[b][0] for b in own[a]), sum(found[b][1] for b in own[a])) for a in sorted(kept, key=len)}


def max_w(model: str) -> float:
    """Of a GPU, above idle."""
    idle, most = reference.GPU_MODELS[model]
    return most - idle


def worth_of(node: Node, known: Statistics) -> float:
    return sum(known.worth[left] for left in node.gpu_left)


def slots_of(node: Node, s: int, known: Statistics) -> int:
    return s * min(len(reference.free_gpus(node)) // s, math.floor(node.cpu_left / known.sizes[s][0]))


def stranded_of(node: Node, known: Statistics) -> float:
    return sum(max(0.0, worth_of(node, known) - node.cpu_left / 1000 / kappa) for kappa in known.kappa) / 20


def usable_of(node: Node, known: Statistics) -> float:
    return round((worth_of(node, known) - stranded_of(node, known)) * 2**20) / 2**20


def idle_vcpu_of(node: Node) -> float:
    """32 vCPU a socket; a socket is powered where a core of it is in use, cores being counted from whole free ones."""
    busy_cores = reference.ceil_div(node.cpu_milli, 2000) - node.cpu_left // 2000
    powered_milli = reference.ceil_div(busy_cores, 16) * 32000
    return min(powered_milli - (node.cpu_milli - node.cpu_left), node.cpu_left) / 1000


def ahead_of(node: Node, known: Statistics) -> float:
    """E: watts that the node is expected to spare the next task. Sizes in steps of 0.1 vCPU and 50 milli-GPU."""
    in_use = [left for left in node.gpu_left if left < 1000]
    has_free = len(reference.free_gpus(node)) > 0
    level = 20 if has_free else max(in_use, default=0) // 50
    sockets, parts = 0.0, 0.0
    for task in known.target:
        fits = 0 < reference.ceil_div(task.cpu_milli, 100) <= round(idle_vcpu_of(node) * 1000) // 100
        if fits and task.num_gpu == 0:
            sockets += task.p
        sharing = task.num_gpu == 1 and task.gpu_milli < 1000
        if fits and ((has_free and task.num_gpu == 1) or (sharing and math.ceil(task.gpu_milli / 50) <= level)):
            sockets += task.p * min(1.0, max(0.0, 1 - (max_w(node.model) - known.middle_w) / 105))
        if sharing:
            parts += task.p * sum(left >= task.gpu_milli for left in in_use)
    return 105 * sockets + known.middle_w * parts


class Growth(NamedTuple):
    arrived: float
    released: float

    @property
    def gamma(self) -> float:
        if self.arrived == 0:
            return 1.0
        return min(1.0, max(0.0, ((self.arrived - self.released) / self.arrived - 0.1) / 0.9))


def plain_gpus(node: Node, task: Task, known: Statistics) -> Gpus:
    """For a sharing task the GPU of least watts + w * (0.45 * left / 1000 + 1.5 * dV) + 1e-5 * left."""
    if not reference.is_sharing(task):
        return reference.choices(node, task)[0]
    idle, busy = reference.GPU_MODELS[node.model]

    def cost(gpus: Gpus) -> float:
        left = node.gpu_left[gpus[0]]
        taken = known.worth[left] - known.worth[left - task.gpu_milli]
        return (busy - idle if left == 1000 else 0) + known.gpu_w * (0.45 * left / 1000 + 1.5 * taken) + 1e-5 * left

    return min(reference.choices(node, task), key=cost)


def plain_costs(nodes: list[Node], task: Task, known: Statistics, growth: Growth) -> dict[int, float]:
    """Every formula of docs/guide/ocs.md, for every node where the task fits."""
    capacity, w, spread = known.capacity, known.gpu_w, known.spread_w
    fill = min(sum(worth_of(node, known) for node in nodes), sum(node.cpu_left for node in nodes) * known.gpus_per_vcpu)
    u = 1 - fill / max(capacity, 1)
    r = max(0.0, (u - 0.8) / 0.2)
    gamma = growth.gamma
    growing, steady = gamma * (1.5 + 13 * r) * w, (1 - gamma) * (0.75 + 3 * r) * w
    price = growing + steady
    rest = max(1 - u, 0.02)
    to_come = max(rest - 0.1, 0.0)
    structure_window = gamma * to_come + (1 - gamma) * min(rest, 0.1)
    named_window = gamma * min(rest, 0.4) + (1 - gamma) * min(rest, 0.1)
    look = gamma if known.constrained else gamma + (1 - gamma) * max(0.0, 1 - 4 * r)

    def ratio(demand: float, supply: float) -> float:
        return 0.0 if demand == 0 else 1.0 if supply == 0 else min(1.0, demand / supply)

    supply = {a: sum(usable_of(node, known) for node in nodes if shape_of(node) in a) for a in known.sets}
    planned = {
        a: (structure * structure_window + named * named_window) * capacity
        for a, (structure, named) in known.sets.items()
    }
    planned = {a: min(whole, max(supply[a], known.beyond[a] * whole)) for a, whole in planned.items()}

    def shape_price(shape: Shape) -> float:
        ratios = [ratio(sum(planned[b] for b in planned if b <= a), supply[a]) for a in planned if shape in a]
        kept = max(1.5 * steady, (1 - gamma) * 2.2 * w)
        return max((gamma * 1.5 * spread * x**20 + kept * x**6 for x in ratios if x > 0.3), default=0.0)

    free = {s: sum(slots_of(node, s, known) for node in nodes) for s in known.sizes}
    short = {s: ratio(d * min(rest, 0.3) * capacity, free[s]) for s, (_, d) in known.sizes.items()}
    later = {s: ratio(d * to_come * capacity, free[s]) for s, (_, d) in known.sizes.items()}
    counted = [s for s in known.sizes if short[s] > 0.2 or later[s] > 0.5]
    slot_prices = dict.fromkeys(known.sizes, 0.0)
    for s in counted:
        slot_prices[s] = (0.3 * growing + steady) * short[s] ** 6 + gamma * 1.5 * spread * later[s] ** 20
    stranding_price = price + gamma * 7 * w * max((short[s] for s in counted), default=0.0) ** 3
    shape_prices = {shape_of(node): shape_price(shape_of(node)) for node in nodes}  # before the task is tried anywhere
    costs = {}
    for i, node in enumerate(nodes):
        if reference.filter_reason(node, task) is not None:
            continue
        gpus = plain_gpus(node, task, known)
        tight = 0.45 * w * node.gpu_left[gpus[0]] / 1000 if reference.is_sharing(task) else 0.0
        before = sum(reference.node_power_w(node)), stranded_of(node, known), worth_of(node, known)
        ahead, lost_before = ahead_of(node, known), reference.fragmentation(node, known.cut)
        slots = {s: slots_of(node, s, known) for s in known.sizes}
        reference.place(node, task, gpus)
        taken = before[2] - worth_of(node, known)
        cost = sum(reference.node_power_w(node)) - before[0] + 0.03 * 105 / 32 * idle_vcpu_of(node)
        cost += look * 0.5 * (ahead - ahead_of(node, known)) + (1 - look) * tight
        cost += (
            stranding_price * (stranded_of(node, known) - before[1]) + (price + shape_prices[shape_of(node)]) * taken
        )
        cost += (gamma * 0.002 + (1 - gamma) * (0.06 + 0.6 * r)) * w * before[2] * max(1, taken)
        cost += price * known.fragments * (reference.fragmentation(node, known.cut) - lost_before) / 1000
        for s, (cpu_milli, _) in known.sizes.items():
            lost: float = slots[s] - slots_of(node, s, known) - (s if task.num_gpu == s else 0)
            if task.num_gpu < s and lost > 0:
                lost = min(lost, max(taken, s * task.cpu_milli / cpu_milli))
            cost += slot_prices[s] * lost
        reference.release(node, task, gpus)
        costs[i] = cost
    return costs


def memory_of(nodes: list[Node], known: Statistics) -> list[float]:
    """Sum of GV and of B by size: what must be exact."""
    return [sum(worth_of(node, known) for node in nodes)] + [
        sum(slots_of(node, s, known) for node in nodes) for s in known.sizes
    ]


@given(churns())
def test_decisions_and_memory_are_those_of_the_formulas_computed_from_scratch(churn: Churn) -> None:
    nodes, placed, growth = churn.case.nodes, [], Growth(0.0, 0.0)
    engine = make_engine(nodes, churn.case.tasks, "ocs", trace=churn.case.trace)
    known = plain_statistics(nodes, churn.case.trace)
    for task, leaving in zip(churn.case.tasks, churn.leaving, strict=True):
        asked = task.num_gpu * task.gpu_milli
        growth = Growth(growth.arrived * (1 - 1 / 2000) + asked, growth.released * (1 - 1 / 2000))
        costs = plain_costs(nodes, task, known, growth)
        chosen, gpus = arrive(engine, task)
        if chosen is None:
            assert costs == {}
        else:
            # Sums in another order differ in the last bits; nodes alike have equal costs and the first of them wins.
            assert costs[chosen] == pytest.approx(min(costs.values()), abs=1e-6)
            assert all(cost > costs[chosen] for i, cost in costs.items() if i < chosen and alike(nodes, i, chosen))
            assert gpus == plain_gpus(nodes[chosen], task, known)
            reference.place(nodes[chosen], task, gpus)
            placed.append(Placed(task, chosen, gpus))
        if leaving is not None and placed:
            gone = placed.pop(leaving % len(placed))
            release(engine, *gone)
            reference.release(nodes[gone.node], gone.task, gone.gpus)
            growth = growth._replace(released=growth.released + gone.task.num_gpu * gone.task.gpu_milli)
        assert engine.state.memory[: 1 + len(known.sizes)].tolist() == memory_of(nodes, known)
        assert ocs_prices.growth(engine.state.memory) == pytest.approx(growth.gamma)


def alike(nodes: list[Node], i: int, j: int) -> bool:
    one, other = nodes[i], nodes[j]
    key = [(n.cpu_milli, n.cpu_left, n.model, n.gpu_left) for n in (one, other)]
    return key[0] == key[1]


@given(churns())
def test_the_terms_sum_to_the_score_and_are_those_of_the_formulas(churn: Churn) -> None:
    nodes, growth = churn.case.nodes, Growth(0.0, 0.0)
    engine = make_engine(nodes, churn.case.tasks, "ocs", trace=churn.case.trace)
    known = plain_statistics(nodes, churn.case.trace)
    for task in churn.case.tasks:
        seen, costs = explained(engine, task), plain_costs(nodes, task, known, growth)
        for i, cost in costs.items():
            assert seen.raw[0, i] == pytest.approx(-cost, abs=1e-6)
            assert seen.priced[:, i].sum() == pytest.approx(-cost, abs=1e-6)
        chosen, gpus = arrive(engine, task)
        if chosen is not None:
            reference.place(nodes[chosen], task, gpus)
        growth = Growth(growth.arrived * (1 - 1 / 2000) + task.num_gpu * task.gpu_milli, 0.0)


@given(churns())
def test_when_all_have_left_the_memory_is_that_of_the_empty_datacenter(churn: Churn) -> None:
    nodes = churn.case.nodes
    engine = make_engine(nodes, churn.case.tasks, "ocs", trace=churn.case.trace)
    empty = engine.state.memory[: MEMORY.arrived].tolist()
    placed = [(task, *arrive(engine, task)) for task in churn.case.tasks]
    for task, node, gpus in placed:
        if node is not None:
            release(engine, task, node, gpus)
    assert engine.state.memory[: MEMORY.arrived].tolist() == empty


# ---- growth ----------------------------------------------------------------------------------------------------------


def test_in_a_fill_up_gamma_is_exactly_1_and_hardly_anything_is_drained() -> None:
    engine = make_engine([make_node(gpus=8)] * 2, [HALF, WHOLE], "ocs")
    for task in [HALF, WHOLE] * 5:
        assert ocs_prices.growth(engine.state.memory) == 1.0
        seen = explained(engine, task)
        assert (seen.priced[TERM.drain] >= -0.002 * 120 * 8).all()
        assert (seen.priced[TERM.tight] == 0).all()
        arrive(engine, task)


def test_departures_close_the_gate_and_the_drain_sets_in() -> None:
    """Three of four equal tasks leave: (4 - 3) / 4 = 0.25 but for the fading; (0.25 - 0.1) / 0.9 = 0.167."""
    engine = make_engine([make_node(gpus=8)] * 2, [WHOLE], "ocs")
    placed = [arrive(engine, WHOLE) for _ in range(4)]
    for node, gpus in placed[:3]:
        assert node is not None
        release(engine, WHOLE, node, gpus)
    assert ocs_prices.growth(engine.state.memory) == pytest.approx((0.25 - 0.1) / 0.9, abs=0.001)
    # node 0 has 7 GPUs free, node 1 has 8: gamma * 0.002 + (1 - gamma) * 0.06 of a G2's 120 W for each
    drain = explained(engine, WHOLE).priced[TERM.drain]
    assert drain.tolist() == pytest.approx([-(0.1667 * 0.002 + 0.8333 * 0.06) * 120 * free for free in (7, 8)], abs=0.1)


def test_with_departures_the_look_ahead_ends_where_the_datacenter_is_nearly_full() -> None:
    """What came has left again, so gamma is 0. With half a GPU of 8 in use a = 1; with 7 more in use a = 0."""
    engine = make_engine([make_node(gpus=8)], [HALF, WHOLE], "ocs")
    for _ in range(40):
        node, gpus = arrive(engine, WHOLE)
        assert node is not None
        release(engine, WHOLE, node, gpus)
    place(engine, HALF, 0, (0,))
    assert ocs_prices.growth(engine.state.memory) == 0.0
    seen = explained(engine, HALF)
    assert seen.priced[TERM.tight, 0] == 0
    assert seen.priced[TERM.ahead, 0] != 0
    for g in range(1, 8):
        place(engine, WHOLE, 0, (g,))
    seen = explained(engine, HALF)
    assert seen.priced[TERM.tight, 0] == pytest.approx(-0.45 * 120 * 0.5)
    assert seen.priced[TERM.ahead, 0] == 0


def test_a_refused_task_counts_as_growth() -> None:
    engine = make_engine([make_node(gpus=1)], [WHOLE, PAIR], "ocs")
    assert arrive(engine, PAIR) == (None, ())
    assert engine.state.memory[MEMORY.arrived] == 2000


# ---- which node ------------------------------------------------------------------------------------------------------


def test_a_cpu_task_keeps_off_the_node_whose_gpus_need_its_vcpu() -> None:
    """Both nodes have a socket awake. GPU tasks want 8 vCPU a GPU: of node 0 (8 GPUs, 64 vCPU) each is needed."""
    cpu_task = make_task(cpu=2)
    engine = make_engine(
        [make_node(gpus=8, cpu=64), make_node(gpus=2, cpu=64)], [cpu_task], "ocs", trace=[WHOLE] * 9 + [cpu_task]
    )
    place(engine, cpu_task, 0)
    place(engine, cpu_task, 1)
    assert decide(engine, cpu_task) == (1, ())


def test_a_sharing_task_goes_to_the_tightest_gpu_that_is_awake() -> None:
    task = make_task(gpu=0.25, cpu=1)
    engine = make_engine([make_node(gpus=4)], [task, HALF], "ocs")
    place(engine, HALF, 0, (2,))
    place(engine, task, 0, (1,))
    assert decide(engine, task) == (0, (2,))


def test_a_scarce_model_is_left_to_the_tasks_that_need_it() -> None:
    """A T4 draws less than a G2, but all tasks that want T4 will not fit if others take it."""
    only_t4 = make_task(gpu=1, cpu=1, spec="T4")
    nodes = [make_node(gpus=2, model="T4"), make_node(gpus=8, model="G2")]
    free = make_task(gpu=1, cpu=1)
    assert decide(make_engine(nodes, [free], "ocs"), free)[0] == 0
    assert decide(make_engine(nodes, [free], "ocs", trace=[only_t4, only_t4, only_t4, free]), free)[0] == 1


def test_a_fill_up_keeps_a_scarce_model_from_the_first_task_on_and_the_knob_says_for_how_much() -> None:
    """Of 10 GPUs that will be asked for, 2 must be T4 and 2 are: all are kept. For the next 3 in 10, 0.6 would do."""
    only_t4, free = make_task(gpu=1, cpu=1, spec="T4"), make_task(gpu=1, cpu=1)
    nodes = [make_node(gpus=2, model="T4"), make_node(gpus=8, model="G2")]
    trace = [only_t4] + [free] * 4
    assert decide(make_engine(nodes, [free], "ocs@1", trace=trace), free)[0] == 1
    assert decide(make_engine(nodes, [free], "ocs@0.3", trace=trace), free)[0] == 0


def test_stranding_costs_more_while_slots_for_several_gpus_are_short() -> None:
    """Every task wants 8 GPUs; one of two nodes is taken, so the slots left are 8 and the next 30 % of 16 ask for 4.8.

    (4.8 / 8)**3 * 7 * 120 W for a GPU that is stranded. With few such tasks it is too little to count.
    """
    eight, cpu_task = make_task(gpu=8, cpu=96), make_task(cpu=48)
    engine = make_engine([make_node(gpus=8, cpu=96)] * 2, [eight, cpu_task], "ocs", trace=[eight])
    place(engine, eight, 0, tuple(range(8)))
    assert explained(engine, cpu_task).priced[TERM.stranded, 1] == pytest.approx(-(0.6**3) * 7 * 120 * 4)
    single = make_task(gpu=1, cpu=12)
    engine = make_engine([make_node(gpus=8, cpu=96)] * 2, [single, cpu_task], "ocs", trace=[eight] + [single] * 100)
    assert explained(engine, cpu_task).priced[TERM.stranded, 1] == 0


def test_a_task_leaves_open_vcpu_to_the_one_that_it_fits() -> None:
    """Node 0 has 20 vCPU open, node 1 has 8: a task of 8 takes these and leaves node 0 to one of 16."""
    small, large, first, second = (make_task(cpu=cpu) for cpu in (8, 16, 12, 24))
    engine = make_engine([make_node(gpus=0, cpu=64)] * 2, [small, large, first, second], "ocs")
    place(engine, first, 0)
    place(engine, second, 1)
    assert decide(engine, small) == (1, ())
    assert decide(engine, large) == (0, ())


# ---- the policy as a whole -------------------------------------------------------------------------------------------


def test_it_has_no_faults() -> None:
    assert check_policy("ocs") == []


def test_a_sample_of_the_trace_serves_as_target() -> None:
    datacenter, trace = small_datacenter(), small_workload()
    sample = trace.with_sequence(trace.sequence[:8])
    run = simulate(datacenter, trace, "ocs", target=sample)
    assert (run.node >= 0).any()


def test_the_knob_is_part_of_the_policy_and_of_its_digest() -> None:
    saving, serving = ocs.ocs_policy(0.1, "ocs_saving"), ocs.ocs_policy(0.6, "ocs_serving")
    again = ocs.ocs_policy(0.2, "ocs_saving")
    digests = {policy_digest(parse(policy.name, {policy.name: policy})) for policy in (saving, serving, again)}
    assert len(digests) == 3
    assert check_policy(serving) == []
    with pytest.raises(UserError, match=r"service 100\.5, expected 0"):
        ocs.ocs_policy(100.5)


def test_above_1_the_knob_plans_for_all_demand_with_a_margin_and_prices_fragments() -> None:
    nodes, trace = [make_node(gpus=8, cpu=128)], [make_task(gpu=1, cpu=4), make_task(gpu=8, cpu=32)]
    seen = {}
    for knob in (0.4, 1.0, 2.5):
        params = ocs.ocs_policy(knob).prepare(make_datacenter(nodes), make_target(trace), PAPER)
        seen[knob] = [params[place] for place in (PARAM.service, PARAM.last_part, PARAM.margin, PARAM.fragments)]
    assert seen == {0.4: [0.4, 0.1, 0, 0], 1.0: [1, 0.1, 0, 0], 2.5: [1, 0, 1, 1.5]}


def test_above_1_the_knob_leaves_the_last_whole_node_to_a_task_of_8_gpus() -> None:
    """One GPU in eleven is asked for in eights: on average less than half of the node that is left. The margin keeps it
    free."""
    nodes = [make_node(gpus=8, cpu=128, model="T4")] * 2 + [make_node(gpus=1, cpu=16, model="G3")] * 20
    small, eight = make_task(gpu=1, cpu=4), make_task(gpu=8, cpu=32)
    trace = [small] * 80 + [eight]
    costs = {}
    for policy in ("ocs", "ocs@2"):
        engine = make_engine(nodes, [small, eight], policy, trace=trace)
        place(engine, small, 0, (0,))
        costs[policy] = -explained(engine, small).priced[TERM.slots, 1]
    assert costs["ocs@2"] > 10 * costs["ocs"] >= 0


def test_explain_shows_the_terms_in_watts_and_they_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", write_nodes(tmp_path), write_tasks(tmp_path), "--policy", "ocs", "--task", "share-2"])
    said = capsys.readouterr().out.partition("terms of ocs")[2].splitlines()
    names = said[1].split("\u2503")
    shown = ["node", "power", "ahead", "gpus", "drain", "slots_1", "scarce_2", "stranded", "sum"]
    assert [name.strip() for name in names] == shown
    cells = next(line for line in said if "t4-a <-" in line).split("\u2502")
    *terms, total = [float(cell) for cell in cells[1:]]
    assert sum(terms) == pytest.approx(total, abs=0.02)
    main(["explain", write_nodes(tmp_path), write_tasks(tmp_path), "--policy", "fgd", "--task", "share-2"])
    assert "terms of" not in capsys.readouterr().out


@kernel
def choice_by_lanes(bucket: Any, total: Any) -> int:
    return choose(bucket, total)


@given(st.lists(st.tuples(st.sampled_from([0, 0, -3]), st.sampled_from([-2.5, -1.0, 0.0, 1e9])), max_size=40))
def test_the_choice_by_lanes_is_the_plain_choice(nodes: list[tuple[int, float]]) -> None:
    bucket = np.array([code for code, _ in nodes], dtype=np.int16)
    feasible = [n for n, (code, _) in enumerate(nodes) if code >= 0]
    plain = max(feasible, key=lambda n: nodes[n][1]) if feasible else -1  # the first of equals
    assert choice_by_lanes(bucket, np.array([value for _, value in nodes], dtype=np.float64)) == plain
