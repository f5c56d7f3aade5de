"""Calls the functions of a policy one by one, first as plain Python with every index checked, then compiled.

Compiled kernels check no index: a write beyond an array changes something else, or ends the process. So the plain
functions go first, and the compiled ones get arrays with room around them that must stay as it is.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.policy_check.history import History, Moment, fitting_nodes
from wattpack.experiments.policy_check.source import MODEL_IS_A_NUMBER
from wattpack.jit import interpreted
from wattpack.model.policy import AFTER_CHANGE, ARRIVAL, BEFORE_CHANGE, DEPARTURE, Policy

NOT_AN_AMOUNT = {
    "memory_mib",
    "gpu_models",
    "cpu_models",
    "pools",
}  # what `amounts_only` says that `score` does not read


class Subject:
    """A policy that goes through a History as in an engine: its memory, and nodes with its notes."""

    def __init__(self, policy: Policy, history: History, params: NDArray[np.float64]) -> None:
        self.policy, self.history = policy, history
        self.tasks, self.world = history.tasks.copy(), history.world
        self.nodes = history.nodes.copy()
        self.params, self.memory = params.copy(), np.zeros(policy.memory_size)

    def remember(self, event: int, n: int, k: int) -> None:
        raise NotImplementedError

    def tell(self, event: int, n: int, k: int) -> None:
        if self.policy.memory_size > 0:  # otherwise an engine does not call it either
            self.remember(event, n, k)

    def walk(self) -> Iterator[Moment]:
        """Stands at each moment before the decision: the task has come, and is not placed yet."""
        for n in range(len(self.nodes)):
            self.tell(AFTER_CHANGE, n, 0)
        for moment in self.history.moments:
            if not moment.leaves:
                self.tell(ARRIVAL, 0, moment.k)
            yield moment
            if moment.n >= 0:
                self.tell(BEFORE_CHANGE, moment.n, moment.k)
                notes = self.nodes[moment.n].notes.copy()
                self.nodes[moment.n] = moment.record[0]
                self.nodes[moment.n].notes[:] = notes
                self.tell(AFTER_CHANGE, moment.n, moment.k)
            if moment.leaves:
                self.tell(DEPARTURE, moment.n, moment.k)


class TextComparedError(Exception):
    """A model was compared with a text."""


class ModelNumber(int):
    """A number that raises when it is compared with a text."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            raise TextComparedError
        return int(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__


class Watched:
    """A record that notes which of its fields are read."""

    def __init__(self, record: Any, read: set[str]) -> None:
        object.__setattr__(self, "_record", record)
        object.__setattr__(self, "_read", read)

    def __getattr__(self, name: str) -> Any:
        self._read.add(name)
        value = getattr(self._record, name)
        if name in ("model", "cpu_model", "pool"):
            return ModelNumber(value)
        return value.astype(np.int64) if name in ("gpu_left", "kinds") else value  # as the compiler widens them

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._record, name, value)


class PlainSubject(Subject):
    """The policy's functions as plain Python, on arrays of exactly their size."""

    def __init__(self, policy: Policy, history: History, params: NDArray[np.float64]) -> None:
        super().__init__(policy, history, params)
        roles = ("score", "weigh", "remember")
        self.functions = {role: interpreted(getattr(policy, role))[0] for role in roles}
        self.reads: dict[str, tuple[set[str], set[str]]] = {role: (set(), set()) for role in roles}  # of node, of task
        self.faults: dict[str, None] = {}

    def node(self, role: str, n: int) -> Watched:
        return Watched(self.nodes[n], self.reads[role][0])

    def task(self, role: str, k: int) -> Watched:
        return Watched(self.tasks[k], self.reads[role][1])

    def remember(self, event: int, n: int, k: int) -> None:
        node, task = self.node("remember", n), self.task("remember", k)
        self.call("remember", event, node, task, self.world, self.params, self.memory)

    def call(self, role: str, *arguments: Any) -> None:
        """Call a function; whatever else Python objects to may be right in a compiled kernel."""
        try:
            with np.errstate(all="ignore"):
                self.functions[role](*arguments)
        except IndexError as fault:
            self.faults[f"{role} goes beyond an array: {fault}{_line_of(fault)}"] = None
        except TextComparedError:
            self.faults[f"{role} compares with a text: {MODEL_IS_A_NUMBER}"] = None
        except Exception:
            pass


def _line_of(fault: BaseException) -> str:
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    text = linecache.getline(trace.tb_frame.f_code.co_filename, trace.tb_lineno).strip()
    return f", in `{text}`" if text else ""


def faults_of_plain_calls(policy: Policy, history: History, params: NDArray[np.float64]) -> list[str]:
    """Indices outside an array, texts, and fields that are read though the policy says that they are not."""
    subject = PlainSubject(policy, history, params)
    for moment in subject.walk():
        task = subject.task("score", moment.k)
        for n in fitting_nodes(subject.nodes, subject.tasks[moment.k]):
            node, memory = subject.node("score", n), subject.memory
            subject.call("score", node, task, subject.world, subject.params, memory, np.zeros(policy.terms))
        prices = (subject.task("weigh", moment.k), subject.world, subject.params, subject.memory)
        subject.call("weigh", *prices, np.zeros(policy.terms))
        if subject.faults:
            break
    of_node, of_task = subject.reads["score"]
    if policy.amounts_only and of_task & NOT_AN_AMOUNT:
        names = " and ".join(f"task.{name}" for name in sorted(of_task & NOT_AN_AMOUNT))
        subject.faults[f"amounts_only=True, but score reads {names}: leave amounts_only out"] = None
    if "notes" in of_node and not policy.notes:
        subject.faults["score reads node.notes, but notes=True is missing: in a mix they are another policy's"] = None
    return list(subject.faults)
