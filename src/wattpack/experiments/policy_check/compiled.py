"""The compiled functions of a policy, called with arrays that have room around them: what they write and depend on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.core.faults import FLAG, LARGEST
from wattpack.experiments.policy_check.calls import Subject
from wattpack.experiments.policy_check.history import History, fitting_nodes
from wattpack.model.nodes import NODE
from wattpack.model.policy import AFTER_CHANGE, ANY_GPU, Normalise, Policy

ROOM = 256  # numbers before, between and behind the arrays
FILLS = (123456.78125, -654321.40625)  # what stands in an array before a call, which has to overwrite it
EXACT = 2.0**40  # integer scores above are not exact any more when they are weighted
NODE_NOTES_AT = int(dict(NODE.fields or {})["notes"][1])  # bytes from the beginning of a record
ARRAYS = ("params", "memory", "terms", "prices")


class Variant(NamedTuple):
    """What a score must not depend on; the second of each is something else than the first."""

    fill: int = 0
    memory: int = 0
    scratch: int = 0
    room: int = 0


# What differs alone, in the order in which it is looked for, and what that means.
REASONS = (
    (Variant(), "differ from call to call: a score must not depend on chance or on the clock"),
    (Variant(fill=1), "depend on what stood in terms before: write every term before it is read"),
    (
        Variant(memory=1),
        "differ when asked again: `score` is called only when the node has changed, so it must not read memory "
        "(put that into `weigh`, or into node.notes at AFTER_CHANGE)",
    ),
    (
        Variant(scratch=1),
        "depend on earlier questions: call `tally(node, world)` of wattpack.model.fragmentation first",
    ),
    (Variant(room=1), "depend on what stands beyond the end of params, memory or terms"),
)


class FoundError(Exception):
    """A fault; its text is the sentence."""


class CompiledSubject(Subject):
    """The compiled functions; every call is checked for what it changed."""

    def __init__(self, policy: Policy, history: History, params: NDArray[np.float64]) -> None:
        super().__init__(policy, history, params)
        sizes = (len(params), policy.memory_size, policy.terms, policy.terms)
        starts = [ROOM + sum(sizes[:i]) + ROOM * i for i in range(len(sizes))]
        self.all = np.zeros(starts[-1] + sizes[-1] + ROOM)
        places = [slice(start, start + size) for start, size in zip(starts, sizes, strict=True)]
        self.inside = np.zeros(len(self.all), dtype=np.bool_)
        for place in places:
            self.inside[place] = True
        self.starts = starts
        self.params, self.memory, self.terms, self.prices = (self.all[place] for place in places)
        self.params[:] = params
        # A record before the first node and one behind the last: writes beyond the notes show there.
        self.padded = np.zeros(len(self.nodes) + 2, dtype=self.nodes.dtype).view(np.recarray)
        self.padded[1:-1] = self.nodes
        self.nodes = self.padded[1:-1]
        self.bytes = self.padded.view(np.ndarray).view(np.uint8)
        self.wrote_notes = False

    def remember(self, event: int, n: int, k: int) -> None:
        nodes, before = self.bytes.copy(), self.all.copy()
        self.policy.remember(event, self.nodes[n], self.tasks[k], self.world, self.params, self.memory)
        at = (n + 1) * NODE.itemsize + NODE_NOTES_AT
        notes = slice(at, at + NODE["notes"].itemsize)
        changed = bool((nodes[notes] != self.bytes[notes]).any())
        nodes[notes] = self.bytes[notes]
        if (nodes != self.bytes).any():
            raise FoundError("remember changes a node beyond node.notes, expected notes and memory to be all it writes")
        if changed and event != AFTER_CHANGE:
            raise FoundError("remember writes node.notes at another event than AFTER_CHANGE: scores would not follow")
        self.wrote_notes |= changed
        self.same_but(before, "remember", "memory")

    def same_but(self, before: NDArray[np.float64], role: str, written: str) -> None:
        """Only `written` may have changed, of all arrays and the guard space around them."""
        after = self.all.copy()
        place = getattr(self, written)
        at = self.starts[ARRAYS.index(written)]
        after[at : at + len(place)] = before[at : at + len(place)]
        if after.tobytes() == before.tobytes():
            return
        wrong = int(np.flatnonzero(after.view(np.int64) != before.view(np.int64))[0])
        array = ARRAYS[max(0, int(np.searchsorted(self.starts, wrong, side="right")) - 1)]
        if self.inside[wrong]:
            raise FoundError(f"{role} writes {array}, expected it to write {written} only")
        raise FoundError(f"{role} writes beyond the end of {array}, which has {len(getattr(self, array))} numbers")

    def score(self, k: int, n: int, variant: Variant, task: Any = None) -> tuple[int, NDArray[np.float64]]:
        """One call: the GPU and the terms."""
        memory = self.memory.copy()
        self.terms[:] = FILLS[variant.fill]
        self.world.tally[:FLAG] = 7 * variant.scratch
        self.all[~self.inside] = 5.0 * variant.room
        if variant.memory:
            self.memory[:] = memory + 3
        before, nodes, tasks = self.all.copy(), self.bytes.tobytes(), self.tasks.tobytes()
        gpu = int(
            self.policy.score(
                self.nodes[n],
                self.tasks[k] if task is None else task,
                self.world,
                self.params,
                self.memory,
                self.terms,
            )
        )
        self.same_but(before, "score", "terms")
        if self.bytes.tobytes() != nodes or self.tasks.tobytes() != tasks:
            raise FoundError("score changes the node or the task, expected it to write terms only")
        self.memory[:] = memory
        return gpu, self.terms.copy()

    def weigh(self, k: int, fill: float) -> NDArray[np.float64]:
        self.prices[:] = fill
        before = self.all.copy()
        self.policy.weigh(self.tasks[k], self.world, self.params, self.memory, self.prices)
        self.same_but(before, "weigh", "prices")
        return self.prices.copy()

    def about(self, k: int, n: int) -> str:
        return f"of node {self.history.datacenter.names[n]} for task ({self.history.workload.classes[k].text})"


def faults_of_calls(policy: Policy, history: History, params: NDArray[np.float64], listed: list[int]) -> list[str]:
    """The first fault that shows in calls of the compiled functions; `listed`: the terms that the policy says it uses.

    Every class is asked about at every moment, on every node that holds it.
    """
    subject = CompiledSubject(policy, history, params)
    twin = CompiledSubject(policy, history, params)  # told the same, asked nothing
    fixed = [world.copy() for world in (history.world.target, history.world.gpu_draw_mw, history.world.adds)]
    try:
        for moment, _ in zip(subject.walk(), twin.walk(), strict=True):
            for k in range(len(subject.tasks)):
                for n in fitting_nodes(subject.nodes, subject.tasks[k]):
                    _check_score(subject, k, n, listed)
            _check_prices(subject, moment.k, listed)
            if subject.memory.tobytes() != twin.memory.tobytes():
                raise FoundError("remember gives another memory the second time: it must not depend on chance")
        if policy.notes and not subject.wrote_notes:
            raise FoundError("notes=True, but remember writes no node.notes: leave notes out")
        if subject.wrote_notes and not policy.notes:
            raise FoundError("remember writes node.notes, but notes=True is missing: in a mix two would write them")
        if any(
            before.tobytes() != now.tobytes()
            for before, now in zip(
                fixed, (history.world.target, history.world.gpu_draw_mw, history.world.adds), strict=True
            )
        ):
            raise FoundError("a function changes the tables of world, which other policies read")
    except FoundError as fault:
        return [str(fault)]
    return []


def _check_score(subject: CompiledSubject, k: int, n: int, listed: list[int]) -> None:
    policy, about = subject.policy, subject.about(k, n)
    gpu, terms = subject.score(k, n, Variant())
    other_gpu, other = subject.score(k, n, Variant(1, 1, 1, 1))
    written = ~((terms == FILLS[0]) & (other == FILLS[1]))
    for t in range(policy.terms):
        if written[t] and t not in listed:
            raise FoundError(
                f"score writes term {_term(policy, t)}, which used_terms does not list: its price would not count"
            )
        if not written[t] and t in listed:
            raise FoundError(f"score {about} is missing: write a number into every term, here {_term(policy, t)}")
    chosen = terms[listed]
    if not (np.abs(chosen) <= LARGEST).all():
        bad = chosen[~(np.abs(chosen) <= LARGEST)][0]
        raise FoundError(f"score {about} is not finite ({bad:g}): write a finite number into every term")
    if not _same((gpu, chosen), (other_gpu, other[listed])):
        raise FoundError(f"scores {about} {_reason(subject, k, n, listed)}")
    if policy.normalise == Normalise.NONE and policy.terms == 1 and abs(chosen[0]) > EXACT:
        raise FoundError(f"score {about} is {chosen[0]:g}, too large to be exact when weighted: keep below 2**40")
    node, task = subject.nodes[n], subject.tasks[k]
    if task.kind == 0 and gpu != ANY_GPU:
        if not 0 <= gpu < node.gpus:
            raise FoundError(f"score {about} returns GPU {gpu}, expected 0 to {node.gpus - 1} or ANY_GPU")
        if node.gpu_left[gpu] < task.gpu_milli:
            raise FoundError(
                f"score {about} returns GPU {gpu}, which has {node.gpu_left[gpu]} milli left and does not hold the task"
            )
    if policy.amounts_only:
        _check_amounts_only(subject, k, n, (gpu, chosen), listed)


def _reason(subject: CompiledSubject, k: int, n: int, listed: list[int]) -> str:
    first = subject.score(k, n, Variant())
    for variant, reason in REASONS:
        again = subject.score(k, n, variant)
        if not _same((first[0], first[1][listed]), (again[0], again[1][listed])):
            return reason
    return REASONS[0][1]


def _check_amounts_only(
    subject: CompiledSubject, k: int, n: int, answer: tuple[int, NDArray[np.float64]], listed: list[int]
) -> None:
    """The same task with another memory, or for other models, that still fits the node."""
    node = subject.nodes[n]
    for field, value in (
        ("memory_mib", 0),
        ("memory_mib", node.memory_left),
        ("gpu_models", 1 << int(node.model)),
        ("gpu_models", -1),
        ("cpu_models", 1 << int(node.cpu_model)),
        ("pools", 1 << int(node.pool)),
    ):
        task = subject.tasks[k : k + 1].copy()
        task[field] = value
        gpu, terms = subject.score(k, n, Variant(), task[0])
        if not _same(answer, (gpu, terms[listed])):
            raise FoundError(
                f"amounts_only=True, but the score {subject.about(k, n)} depends on task.{field}: leave it out"
            )


def _check_prices(subject: CompiledSubject, k: int, listed: list[int]) -> None:
    policy = subject.policy
    first, second, third = (subject.weigh(k, FILLS[i]) for i in (0, 1, 0))
    for t in range(policy.terms):
        name = _term(policy, t)
        if first[t] == FILLS[0] and second[t] == FILLS[1]:
            raise FoundError(f"weigh writes no price for term {name}, expected one for each term")
        if not abs(first[t]) <= LARGEST:
            raise FoundError(f"price of term {name} is not finite ({first[t]:g})")
        if t not in listed and first[t] != 0:
            raise FoundError(f"weigh gives term {name} a price, but used_terms does not list it")
    if first.tobytes() != third.tobytes():
        raise FoundError("prices differ from call to call: weigh must not depend on chance or on the clock")
    if first.tobytes() != second.tobytes():
        raise FoundError("weigh depends on what stood in prices before: write every price before it is read")


def _term(policy: Policy, t: int) -> str:
    return f"{t} ({policy.term_names[t]})"


def _same(first: tuple[int, NDArray[np.float64]], second: tuple[int, NDArray[np.float64]]) -> bool:
    return first[0] == second[0] and first[1].tobytes() == second[1].tobytes()
