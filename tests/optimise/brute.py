"""Every placement of a few tasks on a few nodes, and every list of moves, by plain search over the reference."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from reference import (
    GPU_MODELS,
    Node,
    TargetClass,
    Task,
    choices,
    filter_reason,
    fragmentation,
    free_gpus,
    is_sharing,
    node_power_w,
    place,
    release,
)


class Outcome(NamedTuple):
    """Ordered as the bound orders: most GPU, then most vCPU of tasks without GPU, then least power."""

    gpu_milli: int
    cpu_only_milli: int
    negative_power_w: float
    placed: tuple[int, ...]  # the tasks that were placed

    @property
    def power_w(self) -> float:
        return -self.negative_power_w


def every_placement(nodes: Sequence[Node], tasks: Sequence[Task], linear: bool = False) -> Iterator[Outcome]:
    """Each task refused, or on each node and each GPU that fits; `linear`: GPU watts grow with the share in use."""
    yield from _from(nodes, tasks, 0, (), linear)


def _from(
    nodes: Sequence[Node], tasks: Sequence[Task], at: int, placed: tuple[int, ...], linear: bool
) -> Iterator[Outcome]:
    if at == len(tasks):
        served = [tasks[i] for i in placed]
        gpu = sum(task.num_gpu * task.gpu_milli for task in served)
        cpu_only = sum(task.cpu_milli for task in served if task.num_gpu == 0)
        yield Outcome(gpu, cpu_only, -sum(_watts(node, linear) for node in nodes), placed)
        return
    yield from _from(nodes, tasks, at + 1, placed, linear)
    for node in nodes:
        if filter_reason(node, tasks[at]) is not None:
            continue
        for gpus in choices(node, tasks[at]):
            place(node, tasks[at], gpus)
            yield from _from(nodes, tasks, at + 1, (*placed, at), linear)
            release(node, tasks[at], gpus)


def _watts(node: Node, linear: bool) -> float:
    cpu_w, gpu_w = node_power_w(node)
    if linear and node.gpu > 0:
        idle_w, most_w = GPU_MODELS[node.model]
        gpu_w = sum(idle_w + (most_w - idle_w) * (1000 - left) / 1000 for left in node.gpu_left)
    return cpu_w + gpu_w


# ---- every list of moves ---------------------------------------------------------------------------------------------

Shared = tuple[Task, ...]  # the sharing tasks of one GPU, sorted by name
Content = tuple[tuple[Shared, ...], tuple[Task, ...]]  # what lies on a node: on its shared GPUs (sorted), and the rest
State = tuple[Content, ...]  # by node


class Moves:
    """All states that moves of placed tasks can reach, a task keeping its old place until it has the new one.

    Tasks of one name are interchangeable, and so are the GPUs of a node: a state that was met with fewer moves is not
    looked at again. Nothing else is left out.
    """

    def __init__(self, nodes: Sequence[Node], target: Sequence[TargetClass], gpu_worth_w: float) -> None:
        self.nodes, self.target, self.gpu_worth_w = nodes, target, gpu_worth_w
        self._costs: dict[tuple[int, Content], float] = {}
        self._ways: dict[tuple[int, Content, Task], list[tuple[Shared | None, Content]]] = {}

    def best_gains_w(self, start: State, most: int) -> list[float]:
        """The largest gain of at most 1, 2, ... `most` moves."""
        first_w = sum(self.cost_w(n, content) for n, content in enumerate(start))
        seen, level, gains, best = {start}, [start], list[float](), 0.0
        for _ in range(most):
            found: dict[State, None] = {}  # in the order in which they are met
            for state in level:
                found |= dict.fromkeys(after for after in self.after_one_move(state) if after not in seen)
            seen.update(found)
            level = list(found)
            best = max([best, *(first_w - sum(map(self.cost_w, range(len(s)), s)) for s in level)])
            gains.append(best)
        return gains

    def after_one_move(self, state: State) -> Iterator[State]:
        for home, (gpus, rest) in enumerate(state):
            for task in sorted({*rest, *(task for gpu in gpus for task in gpu)}, key=lambda task: task.name):
                for old in dict.fromkeys(gpu for gpu in gpus if task in gpu) if is_sharing(task) else [()]:
                    yield from self._moved(state, home, task, old)

    def _moved(self, state: State, home: int, task: Task, old: Shared) -> Iterator[State]:
        """The task leaves GPU `old` of node `home`, or wherever it is if it does not share."""
        gpus, rest = state[home]
        if is_sharing(task):
            without = (replaced(gpus, old, taken_from(old, task)), rest)
        else:
            without = (gpus, taken_from(rest, task))
        for to, content in enumerate(state):
            for new, after in self.ways(to, content, task):
                if to != home:
                    yield tuple(after if n == to else without if n == home else s for n, s in enumerate(state))
                elif new is not None and (new != old or gpus.count(old) > 1):
                    others = replaced(gpus, old, taken_from(old, task))  # another GPU of its node
                    both = (replaced(others, new, with_task(new, task)), rest)
                    yield tuple(both if n == home else s for n, s in enumerate(state))

    def ways(self, n: int, content: Content, task: Task) -> list[tuple[Shared | None, Content]]:
        """Where the task has room on a node that holds `content`: the GPU that it would share, what is there then."""
        if (n, content, task) not in self._ways:
            node, (gpus, rest) = self.filled(n, content), content
            ways: list[tuple[Shared | None, Content]] = []
            if filter_reason(node, task) is None:
                if is_sharing(task):
                    used = [*gpus, *([()] if free_gpus(node) else [])]
                    fitting = [gpu for gpu in used if sum(t.gpu_milli for t in gpu) + task.gpu_milli <= 1000]
                    ways = [(gpu, (replaced(gpus, gpu, with_task(gpu, task)), rest)) for gpu in dict.fromkeys(fitting)]
                else:
                    ways = [(None, (gpus, with_task(rest, task)))]
            self._ways[n, content, task] = ways
        return self._ways[n, content, task]

    def cost_w(self, n: int, content: Content) -> float:
        """Watts, and the price of the free GPU that the target cannot use."""
        if (n, content) not in self._costs:
            node = self.filled(n, content)
            unusable = fragmentation(node, self.target) / 1000 if self.gpu_worth_w else 0.0
            self._costs[n, content] = sum(node_power_w(node)) + self.gpu_worth_w * unusable
        return self._costs[n, content]

    def filled(self, n: int, content: Content) -> Node:
        like = self.nodes[n]
        node = Node(like.name, like.cpu_milli, like.memory_mib, like.gpu, like.model, like.cpu_model)
        for g, gpu in enumerate(content[0]):
            for task in gpu:
                place(node, task, (g,))
        for task in content[1]:
            place(node, task, choices(node, task)[0])
        return node


def with_task(tasks: tuple[Task, ...], task: Task) -> tuple[Task, ...]:
    return tuple(sorted([*tasks, task], key=lambda task: task.name))


def taken_from(tasks: tuple[Task, ...], task: Task) -> tuple[Task, ...]:
    at = tasks.index(task)
    return tasks[:at] + tasks[at + 1 :]


def replaced(gpus: tuple[Shared, ...], old: Shared, new: Shared) -> tuple[Shared, ...]:
    """The shared GPUs of a node, sorted, with `new` in place of `old`; () is a free one, which is not kept."""
    left = list(gpus)
    if old:
        left.remove(old)
    return tuple(sorted([*left, *([new] if new else [])], key=lambda gpu: [task.name for task in gpu]))
