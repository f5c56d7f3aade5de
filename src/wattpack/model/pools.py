"""Pools: nodes that are alike to node selectors, node affinity and taints, and which tasks a pool takes.

A task names the pools it may go to; without names it may go wherever no taint keeps it out. A pool may also be closed
to tasks with GPUs, or to all.
"""

from __future__ import annotations

from typing import NamedTuple

from wattpack.errors import UserError

MAX_POOLS = 62  # the pools that a task may go to are bits of one integer
ANY_POOL = -1  # all bits set
HELD = "held"  # in place of pools: no pool is called so, the task stays where it is

NAMED, CPU, NONE = "named", "cpu", "none"
ONLY = (CPU, NAMED, NONE)


class Pool(NamedTuple):
    """`only`: words of ONLY, `A|B`. Only tasks that name the pool, only tasks without GPU, no task at all."""

    name: str = ""
    only: str = ""

    def takes(self, spec: str, with_gpu: bool) -> bool:
        """Whether a task may go here that names the pools `spec` (`A|B`, empty: it names none)."""
        words = self.only.split("|")
        if NONE in words or (CPU in words and with_gpu):
            return False
        return self.name in spec.split("|") if spec else NAMED not in words

    def without_gpu(self) -> Pool:
        """The same pool, closed to tasks with GPUs."""
        return Pool(self.name, only_words(*self.only.split("|"), CPU))


OPEN = Pool()


def only_words(*words: str) -> str:
    """`only` of a pool, each word once; no task at all needs no other word."""
    known = {word for word in words if word}
    if unknown := known - set(ONLY):
        raise UserError(f"{sorted(unknown)[0]!r}, expected words of {', '.join(ONLY)}")
    return NONE if NONE in known else "|".join(sorted(known))


def names_no_pool(spec: str, pools: tuple[Pool, ...]) -> bool:
    """Whether a task names pools of which no node has any: it fits nowhere."""
    known = {pool.name for pool in pools if pool.name}
    return bool(known) and spec not in ("", HELD) and known.isdisjoint(spec.split("|"))


def pools_mask(spec: str, with_gpu: bool, pools: tuple[Pool, ...]) -> int:
    """Bits of the pools that take such a task. Where no pool has a name, `spec` says nothing: it is of other nodes."""
    if not any(pool.name for pool in pools):
        spec = ""
    if pools == (OPEN,):
        return ANY_POOL
    return sum(1 << i for i, pool in enumerate(pools) if pool.takes(spec, with_gpu))
