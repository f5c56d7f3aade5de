"""A slow, plain second implementation of the scheduling semantics: dicts, lists, ints and floats, decision by decision.

It imports nothing of wattpack and keeps nothing between decisions but the nodes, so that the engine can be compared
with it. It reads no files and checks no input. Policy `random` is not in it.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

Gpus = tuple[int, ...]  # indices on one node, ascending
Policy = Sequence[tuple[str, int]]  # (plugin name, weight in thousandths)
Scores = dict[int, tuple[int, Gpus]]  # node index -> (score, the GPUs that the plugin would take there)

MAX_TASKS_PER_NODE = 1001
DEFAULT_CPU_MODEL = "Xeon E5-2682 v4"
CPU_MODELS = {DEFAULT_CPU_MODEL: (16, 15, 120)}  # physical cores a socket, idle W, busy W
GPU_MODELS = {  # idle W, max W
    "T4": (10, 70),
    "A10": (30, 150),
    "G2": (30, 150),
    "P100": (25, 250),
    "V100M16": (30, 300),
    "V100M32": (30, 300),
    "G3": (50, 400),
    "A100": (50, 400),
}
REASONS = ("lacks_both", "lacks_gpu", "lacks_cpu", "cpu_only_fits", "cpu_only_lacks_cpu", "no_access")
# Of equal largest weights the first name here picks the GPU; semantics.md fixes only FGD before PWR.
PICKER_ORDER = ("fgd", "pwr", "bestfit", "dotprod", "gpupacking", "gpuclustering")


@dataclass(frozen=True)
class Task:
    name: str
    cpu_milli: int
    memory_mib: int
    num_gpu: int
    gpu_milli: int  # per GPU; ignored where num_gpu is 0
    gpu_spec: str = ""  # "A|B": any of these models; empty: any
    cpu_spec: str = ""


@dataclass
class Node:
    name: str
    cpu_milli: int
    memory_mib: int
    gpu: int
    model: str
    cpu_model: str = ""
    cpu_left: int = field(init=False)
    memory_left: int = field(init=False)
    gpu_left: list[int] = field(init=False)
    tasks: list[tuple[Task, Gpus]] = field(init=False)

    def __post_init__(self) -> None:
        self.cpu_left = self.cpu_milli
        self.memory_left = self.memory_mib
        self.gpu_left = [1000] * self.gpu
        self.tasks = []


class TargetClass(NamedTuple):
    cpu_milli: int
    gpu_milli: int
    num_gpu: int
    gpu_spec: str
    p: float


# ---- target workload -------------------------------------------------------------------------------------------------


def target_workload(tasks: Sequence[Task]) -> list[TargetClass]:
    """Classes by falling count, ties by falling tuple, cut at the first prefix with 95 % of the tasks;
    p = (count / total) / (cum / total)."""
    total = len(tasks)
    counts = Counter((t.cpu_milli, gpu_milli_each(t), t.num_gpu, t.gpu_spec) for t in tasks)
    ranked = sorted(counts, key=lambda c: (counts[c], c[0], c[1], c[2], c[3].encode()), reverse=True)
    prefix = []
    cum = 0
    for task_class in ranked:
        prefix.append(task_class)
        cum += counts[task_class]
        if cum * 100 >= total * 95:  # in integers: exactly 95 % is enough
            break
    return [TargetClass(*c, p=(counts[c] / total) / (cum / total)) for c in prefix]


# ---- one node: what a task asks, what is left ------------------------------------------------------------------------


def gpu_milli_each(task: Task) -> int:
    return task.gpu_milli if task.num_gpu > 0 else 0


def is_sharing(task: Task) -> bool:
    return task.num_gpu == 1 and task.gpu_milli < 1000


def model_allowed(model: str, spec: str) -> bool:
    return spec == "" or model in spec.split("|")


def gpus_that_fit(node: Node, gpu_milli: int) -> list[int]:
    return [g for g in range(node.gpu) if node.gpu_left[g] >= gpu_milli]


def free_gpus(node: Node) -> list[int]:
    return gpus_that_fit(node, 1000)


def filter_reason(node: Node, task: Task) -> str | None:
    """None if the task fits, else the first condition that fails."""
    if not model_allowed(node.model, task.gpu_spec):  # CPU-only tasks too: the spec makes no exception for them
        return "gpu_model"
    if not model_allowed(node.cpu_model or DEFAULT_CPU_MODEL, task.cpu_spec):
        return "cpu_model"
    if len(gpus_that_fit(node, gpu_milli_each(task))) < task.num_gpu:
        return "gpu"
    if node.cpu_left < task.cpu_milli:
        return "cpu"
    if node.memory_left < task.memory_mib:
        return "memory"
    if len(node.tasks) >= MAX_TASKS_PER_NODE:
        return "task_limit"
    return None


def fragmentation_by_reason(node: Node, target: Sequence[TargetClass]) -> dict[str, float]:
    """One running sum a reason of p_m * f(m), in milli-GPU, over M in its order."""
    total = sum(node.gpu_left)
    sums = dict.fromkeys(REASONS, 0.0)
    for m in target:
        cpu_fits = node.cpu_left >= m.cpu_milli
        gpu_fits = len(gpus_that_fit(node, m.gpu_milli)) >= m.num_gpu
        milli = total
        if m.num_gpu == 0:
            reason = "cpu_only_fits" if cpu_fits else "cpu_only_lacks_cpu"
        elif not model_allowed(node.model, m.gpu_spec):
            reason = "no_access"
        elif not gpu_fits:
            reason = "lacks_gpu" if cpu_fits else "lacks_both"
        elif not cpu_fits:
            reason = "lacks_cpu"
        else:  # m fits: only the GPUs too small for it are lost
            reason = "lacks_gpu"
            milli = sum(left for left in node.gpu_left if left < m.gpu_milli)
        sums[reason] += m.p * float(milli)
    return sums


def fragmentation(node: Node, target: Sequence[TargetClass]) -> float:
    """F = the six sums, added in the order of REASONS (the order decides the last bit)."""
    sums = fragmentation_by_reason(node, target)
    result = 0.0
    for reason in REASONS:  # not sum(): it compensates for rounding from Python 3.12 on
        result += sums[reason]
    return result


def node_power_w(node: Node) -> tuple[int, int]:
    """CPU: active * busy_w + (sockets - active) * idle_w, a core is 2000 milli; GPU: busy * max_w + free * idle_w."""
    cores_a_socket, cpu_idle_w, cpu_busy_w = CPU_MODELS[node.cpu_model or DEFAULT_CPU_MODEL]
    cores = ceil_div(node.cpu_milli, 2000)
    sockets = ceil_div(cores, cores_a_socket)
    active = ceil_div(ceil_div(node.cpu_milli - node.cpu_left, 2000), cores_a_socket)
    cpu_w = active * cpu_busy_w + (sockets - active) * cpu_idle_w
    if node.gpu == 0:
        return cpu_w, 0
    gpu_idle_w, gpu_max_w = GPU_MODELS[node.model]
    free = len(free_gpus(node))
    return cpu_w, (node.gpu - free) * gpu_max_w + free * gpu_idle_w


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


# ---- placing ---------------------------------------------------------------------------------------------------------


def place(node: Node, task: Task, gpus: Gpus) -> None:
    node.cpu_left -= task.cpu_milli
    node.memory_left -= task.memory_mib
    for g in gpus:
        node.gpu_left[g] -= gpu_milli_each(task)
    node.tasks.append((task, gpus))


def release(node: Node, task: Task, gpus: Gpus) -> None:
    node.tasks.remove((task, gpus))
    node.cpu_left += task.cpu_milli
    node.memory_left += task.memory_mib
    for g in gpus:
        node.gpu_left[g] += gpu_milli_each(task)


# ---- plugins: (node, task, target) -> (score, GPUs) on a node where the task fits ------------------------------------


def choices(node: Node, task: Task) -> list[Gpus]:
    """The hypothetical placements: each GPU that fits for a sharing task, else the one way there is."""
    if is_sharing(task):
        return [(g,) for g in gpus_that_fit(node, task.gpu_milli)]
    return [tuple(free_gpus(node)[: task.num_gpu])]


def best_choice(node: Node, task: Task, score_placed: Callable[[], int]) -> tuple[int, Gpus]:
    """The highest score with the task placed on the node, the first of equals."""
    best: tuple[int, Gpus] | None = None
    for gpus in choices(node, task):
        place(node, task, gpus)
        score = score_placed()
        release(node, task, gpus)
        if best is None or score > best[0]:
            best = score, gpus
    assert best is not None, "scored on a node where the task does not fit"
    return best


def tightest(node: Node, task: Task) -> Gpus:
    """The fitting GPU with least left, the first of equals."""
    return min(choices(node, task), key=lambda gpus: [node.gpu_left[g] for g in gpus])


def fgd(node: Node, task: Task, target: Sequence[TargetClass]) -> tuple[int, Gpus]:
    """int(1 / (1 + exp(-((F_before - F_after) / 1000))) * 100)"""
    before = fragmentation(node, target)

    def score_placed() -> int:
        return int(1 / (1 + math.exp(-((before - fragmentation(node, target)) / 1000))) * 100)

    return best_choice(node, task, score_placed)


def pwr(node: Node, task: Task, target: Sequence[TargetClass]) -> tuple[int, Gpus]:
    """int(P_before - P_after)"""
    before = sum(node_power_w(node))
    return best_choice(node, task, lambda: int(before - sum(node_power_w(node))))


def bestfit(node: Node, task: Task, target: Sequence[TargetClass]) -> tuple[int, Gpus]:
    """s = 0.5 * (cpu_left - cpu) / 128000 + 0.5 * (total - gpu) / 8000; int((1 - s) * 100)"""
    s = 0.5 * (node.cpu_left - task.cpu_milli) / 128000
    s += 0.5 * (sum(node.gpu_left) - task.num_gpu * task.gpu_milli) / 8000
    return int((1 - s) * 100), tightest(node, task)


def dotprod(node: Node, task: Task, target: Sequence[TargetClass]) -> tuple[int, Gpus]:
    """s = ((cpu_left / 128000) * (cpu / 128000) + (total / 8000) * (gpu / 8000)) / 2; int(100 * (1 - s))"""
    total, gpu = sum(node.gpu_left), task.num_gpu * task.gpu_milli
    s = (node.cpu_left / 128000) * (task.cpu_milli / 128000) + (total / 8000) * (gpu / 8000)
    s /= 2
    return int(100 * (1 - s)), tightest(node, task)


def gpupacking(node: Node, task: Task, target: Sequence[TargetClass]) -> tuple[int, Gpus]:
    """CPU-only: 0. All GPUs free: max(33 - free, free). Else, with the fitting GPUs of least left: wholly free ones
    used: max(50 - their number, 33); none: max(100 - (sum of left * 100 // 1000) // 10, 50)."""
    gpus = tightest(node, task)
    if task.num_gpu == 0:
        return 0, gpus
    free = len(free_gpus(node))
    if free == node.gpu:
        return max(33 - free, free), gpus
    # "Take GPUs in order of least left until the task fits": one too full for the task is passed over, not counted
    # (counting it gives 206 other decisions than shared/reference), so the GPUs used are those of the tightest choice.
    used = [node.gpu_left[g] for g in gpus]
    free_used = used.count(1000)
    if free_used > 0:
        return max(50 - free_used, 33), gpus
    return max(100 - sum(left * 100 // 1000 for left in used) // 10, 50), gpus


def gpuclustering(node: Node, task: Task, target: Sequence[TargetClass]) -> tuple[int, Gpus]:
    """CPU-only: 0. Base 75 only this kind on the node, 50 this and others, 25 none, 0 only others;
    plus 25 * (8000 - total) // 8000."""
    gpus = tightest(node, task)
    if task.num_gpu == 0:
        return 0, gpus
    kinds = {gpu_kind(t) for t, _ in node.tasks if t.num_gpu > 0}
    if not kinds:
        base = 25
    elif gpu_kind(task) not in kinds:
        base = 0
    else:
        base = 75 if len(kinds) == 1 else 50
    return base + 25 * (8000 - sum(node.gpu_left)) // 8000, gpus


def gpu_kind(task: Task) -> str:
    return "share" if is_sharing(task) else str(task.num_gpu)


PLUGINS: dict[str, Callable[[Node, Task, Sequence[TargetClass]], tuple[int, Gpus]]] = {
    "fgd": fgd,
    "pwr": pwr,
    "bestfit": bestfit,
    "dotprod": dotprod,
    "gpupacking": gpupacking,
    "gpuclustering": gpuclustering,
}
ALL_EQUAL_SCORE = {"pwr": 100, "bestfit": 0}  # the plugins with a min-max normaliser


# ---- one decision ----------------------------------------------------------------------------------------------------


def raw_scores(nodes: Sequence[Node], task: Task, policy: Policy, target: Sequence[TargetClass]) -> dict[str, Scores]:
    """Steps 1 and 2: for each component the score and the GPUs of every feasible node."""
    feasible = [i for i, node in enumerate(nodes) if filter_reason(node, task) is None]
    return {name: {i: PLUGINS[name](nodes[i], task, target) for i in feasible} for name, _ in policy}


def normalise(name: str, scores: Scores) -> dict[int, int]:
    """Min-max: (s - min) * 100 // (max - min), or one number for all where they are equal. Else the scores as are."""
    raw = {i: score for i, (score, _) in scores.items()}
    if name not in ALL_EQUAL_SCORE or not raw:
        return raw
    low, high = min(raw.values()), max(raw.values())
    if low == high:
        return dict.fromkeys(raw, ALL_EQUAL_SCORE[name])
    return {i: (s - low) * 100 // (high - low) for i, s in raw.items()}


def picker(policy: Policy) -> str:
    """The component with the largest weight."""
    return min(policy, key=lambda part: (-part[1], PICKER_ORDER.index(part[0])))[0]


def decide(nodes: Sequence[Node], task: Task, policy: Policy, target: Sequence[TargetClass]) -> tuple[int | None, Gpus]:
    """Steps 1 to 6. "One feasible node is taken unscored" needs no case of its own: it wins with any score."""
    raw = raw_scores(nodes, task, policy, target)
    normalised = {name: normalise(name, scores) for name, scores in raw.items()}
    pick = raw[picker(policy)]
    if not pick:
        return None, ()
    chosen = max(pick, key=lambda i: sum(weight * normalised[name][i] for name, weight in policy))  # first of equals
    return chosen, pick[chosen][1]


def replay(
    nodes: Sequence[Node], tasks: Sequence[Task], policy: Policy, target: Sequence[TargetClass]
) -> list[tuple[str | None, Gpus]]:
    """Places the tasks in order, changing the nodes; a task that fits nowhere gives (None, ())."""
    decisions: list[tuple[str | None, Gpus]] = []
    for task in tasks:
        i, gpus = decide(nodes, task, policy, target)
        if i is not None:
            place(nodes[i], task, gpus)
        decisions.append((None if i is None else nodes[i].name, gpus))
    return decisions
