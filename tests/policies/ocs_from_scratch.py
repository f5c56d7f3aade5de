"""The formulas of `ocs`, every quantity computed from scratch: the plain version that its kernels must agree with."""

import itertools
import math
from collections import Counter
from typing import NamedTuple

import reference
from reference import Gpus, Node, TargetClass, Task
from wattpack.model.target import TargetClass as ModelClass
from wattpack.policies.ocs import statistics

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
    socket_vcpu: float  # of a socket, mean


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
        {a: min(1.0, 1.3 / share_asked(a, sets, usable, capacity)) ** 4 for a in sets},
        any(named > 0 for _, named in found.values()),
        target,
        reference.target_workload(trace),
        watts[reference.ceil_div(len(watts), 2) - 1] if watts else 0.0,
        sum(watts) / len(watts) if watts else 0.0,
        105 + (max(watts) - min(watts) if watts else 0.0),
        gpus_per_vcpu,
        capacity,
        fragments,
        mean_vcpu_of_sockets(nodes),
    )


def shape_of(node: Node) -> Shape:
    return node.cpu_milli, node.gpu, node.model


def can_hold(shape: Shape, task: TargetClass, any_model: bool = False) -> bool:
    cpu_milli, gpus, model = shape
    allowed = any_model or reference.model_allowed(model, task.gpu_spec)
    return allowed and gpus >= task.num_gpu and cpu_milli >= task.cpu_milli


Demands = dict[frozenset[Shape], tuple[float, float]]


def dependences(nodes: list[Node], target: list[TargetClass], demand: list[float]) -> Demands:
    """Per set of shapes the demand that only these can hold: because of GPUs or vCPU, because of named models.

    Unions of two named sets that share a shape are sets too."""
    shapes = {shape_of(node) for node in nodes}
    found: Demands = {}
    for task, d in zip(target, demand, strict=True):
        holding = frozenset(shape for shape in shapes if can_hold(shape, task))
        if task.num_gpu > 0 and holding and holding != {shape for shape in shapes if shape[1] > 0}:
            structure, named = found.get(holding, (0.0, 0.0))
            by_structure = holding == {shape for shape in shapes if can_hold(shape, task, any_model=True)}
            found[holding] = (structure + d, named) if by_structure else (structure, named + d)
    by_name = [a for a, (_, named) in found.items() if named > 0]
    for a, b in itertools.combinations(by_name, 2):
        if a & b and a | b != {shape for shape in shapes if shape[1] > 0}:
            found.setdefault(a | b, (0.0, 0.0))
    return found


def share_asked(a: frozenset[Shape], found: Demands, usable: list[tuple[Shape, float]], capacity: float) -> float:
    asked = sum(sum(both) for b, both in found.items() if b <= a) * capacity
    return asked / sum(gpus for shape, gpus in usable if shape in a)


def watched(found: Demands, usable: list[tuple[Shape, float]], capacity: float) -> Demands:
    """The sets of which at least 0.3 may be asked for, or 0.01 where models are named, each with the demand that no
    smaller one of them has."""
    kept: list[frozenset[Shape]] = []
    for a in found:
        named = any(found[b][1] > 0 for b in found if b <= a)
        if share_asked(a, found, usable, capacity) > (0.01 if named else 0.3):
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


def sockets_of(node: Node) -> int:
    return reference.ceil_div(reference.ceil_div(node.cpu_milli, 2000), 16)


def vcpu_of_socket(node: Node) -> float:
    return min(32.0, node.cpu_milli / 1000)


def mean_vcpu_of_sockets(nodes: list[Node]) -> float:
    sockets = sum(sockets_of(node) for node in nodes)
    return sum(sockets_of(node) * vcpu_of_socket(node) for node in nodes) / sockets if sockets else 0.0


def fair_socket_w(node: Node, known: Statistics) -> float:
    """105 W, 60 % of it as the vCPU of a mean socket would cost at this socket's watts per vCPU."""
    return 0.4 * 105 + 0.6 * 105 * known.socket_vcpu / max(1.0, vcpu_of_socket(node))


def powered_sockets_of(node: Node) -> int:
    return reference.ceil_div(reference.ceil_div(node.cpu_milli - node.cpu_left, 2000), 16)


def idle_vcpu_of(node: Node) -> float:
    """32 vCPU a socket; a socket is powered where a core of it is in use, part of a core being one."""
    busy_cores = reference.ceil_div(node.cpu_milli - node.cpu_left, 2000)
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
    return fair_socket_w(node, known) * sockets + known.middle_w * parts


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
        return max((gamma * (1 + 60 * r) * 1.5 * spread * x**20 + kept * x**6 for x in ratios if x > 0.3), default=0.0)

    free = {s: sum(slots_of(node, s, known) for node in nodes) for s in known.sizes}
    short = {s: ratio(d * min(rest, 0.3) * capacity, free[s]) for s, (_, d) in known.sizes.items()}
    later = {s: ratio(d * to_come * capacity, free[s]) for s, (_, d) in known.sizes.items()}
    there = max(u, 0.0) * capacity  # GPUs in use; where tasks leave, one standard deviation more tasks of them
    more = {s: 0.0 if gamma == 1 else ratio(s * math.sqrt(d * there / s), free[s]) for s, (_, d) in known.sizes.items()}
    counted = [s for s in known.sizes if short[s] > 0.2 or later[s] > 0.5 or more[s] > 0.5]
    slot_prices = dict.fromkeys(known.sizes, 0.0)
    for s in counted:
        kept_w = 1.5 * spread * (gamma * later[s] ** 20 + (1 - gamma) * more[s] ** 20)
        slot_prices[s] = (0.3 * growing + steady) * short[s] ** 6 + kept_w
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
        slots, powered = {s: slots_of(node, s, known) for s in known.sizes}, powered_sockets_of(node)
        reference.place(node, task, gpus)
        taken = before[2] - worth_of(node, known)
        cost = sum(reference.node_power_w(node)) - before[0] + 0.03 * 105 / 32 * idle_vcpu_of(node)
        cost += (powered_sockets_of(node) - powered) * (fair_socket_w(node, known) - 105)
        cost += look * 0.5 * (ahead - ahead_of(node, known)) + (1 - look) * tight
        stranded = stranded_of(node, known) - before[1]
        cost += stranding_price * stranded + price * taken
        cost += shape_prices[shape_of(node)] * max(taken, taken + stranded)
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
