"""Single changes of a cluster that lives: what a service asks of the engine between one request and the next."""

from __future__ import annotations

from typing import Any

from wattpack.engine.plan import Plan
from wattpack.engine.state import State, arrive, place, release
from wattpack.jit import kernel


@kernel
def arrive_one(state: State, plan: Plan, k: int) -> None:
    """A task of class `k` has come."""
    arrive(state, plan, k)


@kernel
def place_one(state: State, plan: Plan, k: int, n: int, gpus: int) -> None:
    """Put a task of class `k` on node `n` and the GPUs of the bit set `gpus`."""
    place(state, plan, k, n, gpus)


@kernel
def release_one(state: State, plan: Plan, k: int, n: int, gpus: int) -> None:
    """Take it off again."""
    release(state, plan, k, n, gpus)


@kernel
def place_many(state: State, plan: Plan, k: Any, n: Any, gpus: Any) -> None:
    """Tasks that are there already when a service starts: int64[tasks] each, in order of arrival."""
    for i in range(len(k)):
        arrive(state, plan, k[i])
        place(state, plan, k[i], n[i], gpus[i])
