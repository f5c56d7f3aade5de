"""The schedulers that people run, a second time: slow, plain, and without anything of wattpack.

Each `choose_*` gets all nodes in the order of the run, those that fit, and the task; it returns the node's index. Names
and file order matter to some. Written from the rules of the programs, with nothing cached and nothing rearranged: KAI
scales between the least and the most free of all nodes, and kube-scheduler's heap is really built.
"""

import math
from collections.abc import Callable, Sequence

from reference import Gpus, Node, Task, choices, filter_reason, free_gpus, is_sharing, place

MIB_200, MILLI_100 = 200, 100

Nodes = Sequence[Node]


# ---- kube-scheduler's scores -----------------------------------------------------------------------------------------


def used(node: Node) -> tuple[int, int, int]:
    """CPU, memory and GPU requested on the node."""
    return node.cpu_milli - node.cpu_left, node.memory_mib - node.memory_left, 1000 * node.gpu - sum(node.gpu_left)


def counted(node: Node, task: Task) -> tuple[int, int]:
    """CPU and memory with the task there, where a task that asks for none counts 100 milli and 200 MiB."""
    tasks = [other for other, _ in node.tasks] + [task]
    return sum(t.cpu_milli or MILLI_100 for t in tasks), sum(t.memory_mib or MIB_200 for t in tasks)


def least_allocated(node: Node, task: Task) -> int:
    pairs = [pair for pair in zip(counted(node, task), (node.cpu_milli, node.memory_mib), strict=True) if pair[1] > 0]
    parts = [0 if request > alloc else (alloc - request) * 100 // alloc for request, alloc in pairs]
    return sum(parts) // len(parts) if parts else 0


def evenness(requests: Sequence[int], allocs: Sequence[int]) -> int:
    shares = [min(1.0, request / alloc) for request, alloc in zip(requests, allocs, strict=True) if alloc > 0]
    if len(shares) < 2:
        return 100
    if len(shares) == 2:
        return int((1 - abs(shares[0] - shares[1]) / 2) * 100)
    mean = (shares[0] + shares[1] + shares[2]) / 3
    squares = 0.0
    for share in shares:
        squares += (share - mean) * (share - mean)
    return int((1 - math.sqrt(squares / 3)) * 100)


def balanced(node: Node, task: Task, version: float = 1.36, gpu: bool = False) -> int:
    asked = [task.cpu_milli, task.memory_mib, task.num_gpu * task.gpu_milli]
    allocs = [node.cpu_milli, node.memory_mib, 1000 * node.gpu]
    counted_resources = 3 if gpu and task.num_gpu > 0 else 2
    if not any(asked[:counted_resources]):
        return 0
    before = used(node)[:counted_resources]
    after = [b + a for b, a in zip(before, asked, strict=False)]
    with_task = evenness(after, allocs[:counted_resources])
    if version <= 1.35:
        return with_task
    return 50 + (50 + with_task - evenness(before, allocs[:counted_resources])) // 2


def kube_total(node: Node, task: Task, version: float = 1.36) -> int:
    return least_allocated(node, task) + balanced(node, task, version)


def kubepack_total(node: Node, task: Task) -> int:
    parts = [
        (min(request, alloc) * 100 // alloc, 1)
        for request, alloc in zip(counted(node, task), (node.cpu_milli, node.memory_mib), strict=True)
        if alloc > 0
    ]
    if task.num_gpu > 0 and node.gpu > 0:
        gpu = used(node)[2] + task.num_gpu * task.gpu_milli
        parts.append((min(gpu, 1000 * node.gpu) * 100 // (1000 * node.gpu), 5))
    most = sum(s * w for s, w in parts) // sum(w for _, w in parts) if parts else 0
    return most + balanced(node, task)


def kuberatio_total(node: Node, task: Task) -> int:
    ratio = 0
    if task.num_gpu > 0:
        ratio = 100 * (used(node)[2] + task.num_gpu * task.gpu_milli) // (1000 * node.gpu)
    return ratio + balanced(node, task)


def volcano_total(node: Node, task: Task, pack: bool = False) -> float:
    allocs = (node.cpu_milli, node.memory_mib, 1000 * node.gpu)
    asked = (task.cpu_milli, task.memory_mib, task.num_gpu * task.gpu_milli)
    weights = (1, 1, 5 if pack else 0)
    total, weight_sum = 0.0, 0
    for before, ask, alloc, weight in zip(used(node), asked, allocs, weights, strict=True):
        if ask > 0 and weight > 0:
            total += weight * ((before + ask) / alloc)
            weight_sum += weight
    last = total / weight_sum if weight_sum else 0.0
    return least_allocated(node, task) + balanced(node, task, gpu=True) + (1000 if pack else 100) * last


# ---- kube-scheduler's window and heap --------------------------------------------------------------------------------


def want(n: int) -> int:
    return n if n < 100 else max(100, n * max(5, 50 - n // 125) // 100)


def window(fitting: Sequence[int], n: int, start: int, looked_at: int) -> tuple[list[int], int]:
    """The nodes looked at, in the order in which they are met, and where the next walk starts."""
    fits = set(fitting)
    met: list[int] = []
    processed = 0
    for step in range(n):
        i = (start + step) % n
        if i in fits:
            if len(met) == looked_at:
                break
            met.append(i)
        processed += 1
    return met, (start + processed) % n


def heap_root(met: Sequence[int], total: dict[int, float]) -> int:
    heap = list(met)
    for start in range(len(heap) // 2 - 1, -1, -1):
        i = start
        while 2 * i + 1 < len(heap):
            child = 2 * i + 1
            if child + 1 < len(heap) and total[heap[child + 1]] > total[heap[child]]:
                child += 1
            if not total[heap[child]] > total[heap[i]]:
                break
            heap[i], heap[child] = heap[child], heap[i]
            i = child
    return heap[0]


# ---- the other programs ----------------------------------------------------------------------------------------------


def by_largest(nodes: Nodes, fitting: Sequence[int], total: Callable[[Node], float], by_name: bool) -> int:
    """The largest total; ties by name, or the first in node order."""
    return min(fitting, key=lambda i: (-total(nodes[i]), nodes[i].name if by_name else "", i))


def kai(nodes: Nodes, fitting: Sequence[int], task: Task) -> int:
    def free(node: Node) -> int:
        return sum(node.gpu_left) if task.num_gpu > 0 else node.cpu_left

    def has(node: Node) -> bool:
        return node.gpu > 0 if task.num_gpu > 0 else node.cpu_milli > 0

    of_all = [free(node) for node in nodes if has(node)]
    low, high = min(of_all, default=0), max(of_all, default=0)

    def total(node: Node) -> float:
        if high == 0 or not has(node):
            score = 0.0
        elif low == high:
            score = 9.0
        else:
            score = 9 * (1 - (free(node) - low) / (high - low))
        if is_sharing(task) and any(task.gpu_milli <= left < 1000 for left in node.gpu_left):
            score += 10_000
        return score + (10 if task.num_gpu == 0 and node.gpu == 0 else 0)

    return by_largest(nodes, fitting, total, by_name=True)


def kaispread(nodes: Nodes, fitting: Sequence[int], task: Task) -> int:
    def total(node: Node) -> float:
        free, capacity = (sum(node.gpu_left), 1000 * node.gpu) if task.num_gpu > 0 else (node.cpu_left, node.cpu_milli)
        bonus = 10 if task.num_gpu == 0 and node.gpu == 0 else 0
        return (free / capacity if capacity > 0 else 0.0) + bonus

    return by_largest(nodes, fitting, total, by_name=True)


def hami(nodes: Nodes, fitting: Sequence[int], task: Task, sign: int = 1) -> int:
    def total(node: Node) -> float:
        if task.num_gpu == 0:
            return kube_total(node, task)
        slots_used = sum(other.num_gpu for other, _ in node.tasks)
        return sign * (10 * (slots_used / (10 * node.gpu) + 2 * used(node)[2] / (1000 * node.gpu)))

    return by_largest(nodes, fitting, total, by_name=False)


def yunikorn(nodes: Nodes, fitting: Sequence[int], task: Task, sign: int = -1) -> int:
    def total(node: Node) -> float:
        cpu, memory, _ = used(node)
        shares = [u / c for u, c in ((cpu, node.cpu_milli), (memory, node.memory_mib)) if c > 0]
        return sign * (sum(shares) / len(shares) if shares else 0.0)

    return by_largest(nodes, fitting, total, by_name=True)


def slurm(nodes: Nodes, fitting: Sequence[int], task: Task, file_order: Sequence[int]) -> int:
    """`file_order`: indices of the nodes in the order of the file."""
    runs: list[list[int]] = [[]]
    for i in file_order:
        if i in set(fitting):
            runs[-1].append(i)
        else:
            runs.append([])
    best = min((run for run in runs if run), key=lambda run: sum(nodes[i].cpu_left for i in run))
    return min(best, key=lambda i: nodes[i].cpu_left)


def slurmlln(nodes: Nodes, fitting: Sequence[int], task: Task, file_order: Sequence[int]) -> int:
    in_order = [i for i in file_order if i in set(fitting)]
    return max(in_order, key=lambda i: nodes[i].cpu_left / nodes[i].cpu_milli if nodes[i].cpu_milli else 0.0)


# ---- GPUs of the chosen node -----------------------------------------------------------------------------------------


def tightest(node: Node, task: Task) -> Gpus:
    return min(choices(node, task), key=lambda gpus: node.gpu_left[gpus[0]])


def emptiest_first(node: Node, task: Task) -> Gpus:
    return max(choices(node, task), key=lambda gpus: node.gpu_left[gpus[0]])


def emptiest_last(node: Node, task: Task) -> Gpus:
    return max(choices(node, task), key=lambda gpus: (node.gpu_left[gpus[0]], gpus[0]))


def first(node: Node, task: Task) -> Gpus:
    return choices(node, task)[0]


# ---- runs ------------------------------------------------------------------------------------------------------------

KUBE_TOTALS: dict[str, Callable[[Node, Task], float]] = {
    "kube": kube_total,
    "kubeall": kube_total,
    "kube@1.35": lambda node, task: kube_total(node, task, 1.35),
    "kubepack": kubepack_total,
    "kuberatio": kuberatio_total,
}
RANDOM_TOTALS: dict[str, Callable[[Node, Task], float]] = {
    "kube@1.34": lambda node, task: kube_total(node, task, 1.34),
    "volcano": volcano_total,
    "volcanopack": lambda node, task: volcano_total(node, task, pack=True),
}
PICKS = {"kaispread": emptiest_first, "hami": emptiest_last, "hamispread": emptiest_last, "slurm": first}
PICKS["slurmlln"] = first


def replay(
    nodes: Nodes,
    tasks: Sequence[Task],
    policy: str,
    luck: Sequence[float] = (),
    file_order: Sequence[int] | None = None,
) -> list[tuple[str | None, Gpus]]:
    """Places the tasks in order, changing the nodes. luck: a number in [0, 1) a task, where ties are drawn."""
    decisions: list[tuple[str | None, Gpus]] = []
    start, order = 0, range(len(nodes)) if file_order is None else file_order
    for number, task in enumerate(tasks):
        fitting = [i for i, node in enumerate(nodes) if filter_reason(node, task) is None]
        if not fitting:
            decisions.append((None, ()))
            continue
        if policy in KUBE_TOTALS or policy in RANDOM_TOTALS:
            looked_at = len(nodes) if policy == "kubeall" else want(len(nodes))
            met, start = window(fitting, len(nodes), start, looked_at)
            score = {**KUBE_TOTALS, **RANDOM_TOTALS}[policy]
            total = {i: score(nodes[i], task) for i in met}
            if policy in KUBE_TOTALS:
                chosen = heap_root(met, total)
            else:
                equals = [i for i in sorted(met) if total[i] == max(total.values())]
                chosen = equals[int(luck[number] * len(equals))]
        elif policy == "slurm":
            chosen = slurm(nodes, fitting, task, order)
        elif policy == "slurmlln":
            chosen = slurmlln(nodes, fitting, task, order)
        else:
            rule = {
                "kai": kai,
                "kaispread": kaispread,
                "hami": hami,
                "hamispread": lambda *given: hami(*given, sign=-1),
                "yunikorn": yunikorn,
                "yunikornpack": lambda *given: yunikorn(*given, sign=1),
            }[policy]
            chosen = rule(nodes, fitting, task)
        node = nodes[chosen]
        if is_sharing(task):
            gpus = PICKS.get(policy, tightest)(node, task)
        else:
            gpus = tuple(free_gpus(node)[: task.num_gpu])
        place(node, task, gpus)
        decisions.append((node.name, gpus))
    return decisions
