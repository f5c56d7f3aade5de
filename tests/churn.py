"""Cases in which tasks also leave, and how to play one on an engine."""

from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import strategies as st

import reference
from builders import arrive, make_engine, release
from cases import Case, cases
from reference import Gpus, Task
from wattpack.engine.core.engine import Engine


class Placed(NamedTuple):
    task: Task
    node: int
    gpus: Gpus


class Churn(NamedTuple):
    """After the i-th arrival the `leaving[i]`-th of the placed tasks leaves, none where it is None."""

    case: Case
    leaving: list[int | None]


@st.composite
def churns(draw: st.DrawFn) -> Churn:
    case = draw(cases())
    size = len(case.tasks)
    return Churn(case, draw(st.lists(st.none() | st.integers(0, 39), min_size=size, max_size=size)))


def engine_for(churn: Churn) -> Engine:
    return make_engine(churn.case.nodes, churn.case.tasks, churn.case.policy, trace=churn.case.trace)


def play(churn: Churn, engine: Engine) -> Iterator[tuple[Task, list[Placed]]]:
    """Drives the engine and, beside it, the reference's nodes; after each change: the latest task, all placed ones."""
    placed: list[Placed] = []
    for task, leaving in zip(churn.case.tasks, churn.leaving, strict=True):
        chosen, gpus = arrive(engine, task)
        if chosen is not None:
            reference.place(churn.case.nodes[chosen], task, gpus)
            placed.append(Placed(task, chosen, gpus))
        yield task, placed
        if leaving is not None and placed:
            gone = placed.pop(leaving % len(placed))
            release(engine, *gone)
            reference.release(churn.case.nodes[gone.node], gone.task, gone.gpus)
            yield task, placed


def assert_decide_alike(churn: Churn, one: Engine, other: Engine) -> None:
    """Play the same on both engines."""
    placed: list[Placed] = []
    for task, leaving in zip(churn.case.tasks, churn.leaving, strict=True):
        chosen, gpus = arrive(one, task)
        assert arrive(other, task) == (chosen, gpus)
        if chosen is not None:
            placed.append(Placed(task, chosen, gpus))
        if leaving is not None and placed:
            gone = placed.pop(leaving % len(placed))
            release(one, *gone)
            release(other, *gone)
