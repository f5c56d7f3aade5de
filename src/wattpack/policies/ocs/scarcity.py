"""Scarcity, one idea: a class can be held by some node shapes only, and other tasks may take them first.

A class depends on a set of shapes because of its GPUs, its vCPU or the models that it names. Per set A:

    structure  demand of the classes that depend on A because of their GPUs or vCPU
    named      demand of the classes that depend on A because they name models: the knob says how much is planned for

prices.py compares what is planned for with the GPUs that are free on A. Shapes that are in the same sets are a group,
with one price.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.model.target import Target
from wattpack.model.tasks import models_mask
from wattpack.policies.ocs.fleet import Shape, holders
from wattpack.policies.ocs.layout import MAX_GROUPS, MAX_SETS, PARAM
from wattpack.policies.ocs.statistics import demand_shares, gpu_worth

ALL_MODELS = -1
# A set of which less than this share is ever asked for is not watched, because every group of shapes costs time at each
# decision. Where tasks name models the share is lower: at 0.3, tasks that could go anywhere filled such sets and others
# were refused (0.045 of GRAR on fleet 37); at 0.1 the 12 tasks there that name G2, 7 % of what G2 has, found all of it
# taken at load 0.3 (0.006). For other sets 0.1 instead of 0.3 changed nothing.
LEAST_ASKED, LEAST_NAMED = 0.3, 0.01
# Demand of up to this many times what a set holds while empty counts in full in larger sets; above, ever less.
STILL_HELD = 1.3


class Dependence(NamedTuple):
    """The demand of the classes that exactly these shapes can hold, as shares of the demand for GPUs."""

    shapes: int  # bits
    structure: float
    named: float


def dependences(target: Target, shapes: tuple[Shape, ...], models: tuple[str, ...]) -> tuple[Dependence, ...]:
    """One for each set of shapes that classes with GPUs depend on, except the set of all shapes with GPUs.

    Also the unions of two sets that tasks name and that share a shape, which each of the two counts as its own. Sets
    that share none need no union: it is never shorter than both of them.
    """
    classes = target.uncut or target.classes
    everything = sum(1 << place for place, shape in enumerate(shapes) if shape.gpus > 0)
    found: dict[int, Dependence] = {}
    for task, share in zip(classes, demand_shares(classes, gpu_worth(classes)).tolist(), strict=True):
        holding = holders(task, shapes, models_mask(task.gpu_spec, models))
        if task.num_gpu == 0 or holding in (0, everything):
            continue
        own = found.get(holding, Dependence(holding, 0.0, 0.0))
        if holding == holders(task, shapes, ALL_MODELS):
            found[holding] = own._replace(structure=own.structure + share)
        else:
            found[holding] = own._replace(named=own.named + share)
    ranked = sorted((one for one in found.values() if one.named > 0), key=lambda one: -one.named)
    named = [one.shapes for one in ranked[:MAX_SETS]]  # the largest: hundreds of sets would have 10,000s of unions
    for union in (a | b for a, b in combinations(named, 2) if a & b and a | b != everything):
        found.setdefault(union, Dependence(union, 0.0, 0.0))
    return tuple(found.values())


def watched_sets(found: Sequence[Dependence], usable: Sequence[float], capacity: float) -> list[Dependence]:
    """The sets that have a price, small ones first, each with the demand that no smaller one of them has.

    `usable`: GPUs of each shape while all are free; `capacity`: GPUs that can be filled. Where there are too many sets,
    those of which most is asked for are kept: with the largest demand first, the least scarce ones took the places.
    """
    asked = {one.shapes: share_asked(one.shapes, found, usable, capacity) for one in found}
    kept: list[int] = []
    for shapes in sorted(asked, key=lambda own: -asked[own]):
        if asked[shapes] <= LEAST_NAMED or len(kept) == MAX_SETS:
            break
        groups = set(memberships([*kept, shapes], len(usable))) - {(0,) * (len(kept) + 1)}
        named = any(own.named > 0 for own in found if own.shapes & ~shapes == 0)
        if asked[shapes] > (LEAST_NAMED if named else LEAST_ASKED) and len(groups) <= MAX_GROUPS:
            kept.append(shapes)
    kept.sort(key=lambda shapes: shapes.bit_count())
    return [_with_demand(shapes, found, kept) for shapes in kept]


def share_asked(shapes: int, found: Sequence[Dependence], usable: Sequence[float], capacity: float) -> float:
    """Demand in a full datacenter that depends on these shapes or some of them, per GPU that they have."""
    asked = sum(own.structure + own.named for own in found if own.shapes & ~shapes == 0) * capacity
    return asked / max(sum(gpus for place, gpus in enumerate(usable) if shapes >> place & 1), 1e-9)


def _with_demand(shapes: int, found: Sequence[Dependence], kept: Sequence[int]) -> Dependence:
    smaller = [other for other in kept if other != shapes and other & ~shapes == 0]
    own = [one for one in found if one.shapes & ~shapes == 0 and not any(one.shapes & ~other == 0 for other in smaller)]
    return Dependence(shapes, sum(one.structure for one in own), sum(one.named for one in own))


def memberships(sets: Sequence[int], shapes: int) -> list[tuple[int, ...]]:
    """For each shape, 1 for each set that it is in."""
    return [tuple(own >> place & 1 for own in sets) for place in range(shapes)]


def fill_scarcity(params: NDArray[np.float64], sets: Sequence[Dependence], usable: Sequence[float]) -> list[int]:
    """Fill in the sets and the groups of shapes, and return the group of each shape, -1 for none; modifies `params`."""
    params[PARAM.set_count] = len(sets)
    for a, one in enumerate(sets):
        params[PARAM.set_structure + a], params[PARAM.set_named + a] = one.structure, one.named
        params[PARAM.set_held + a] = still_counts(share_asked(one.shapes, sets, usable, params[PARAM.capacity]))
        for b, other in enumerate(sets[: a + 1]):
            params[PARAM.set_within + a * MAX_SETS + b] = other.shapes & ~one.shapes == 0
    rows = memberships([one.shapes for one in sets], len(usable))
    groups = [row for row in dict.fromkeys(rows) if any(row)]
    params[PARAM.group_count] = len(groups)
    for group, row in enumerate(groups):
        params[PARAM.group_in + group * MAX_SETS : PARAM.group_in + group * MAX_SETS + len(row)] = row
    return [groups.index(row) if row in groups else -1 for row in rows]


def still_counts(asked: float) -> float:
    """Of demand beyond what is free on a set, the share that counts in larger sets; `asked`: `share_asked` of the set.

    All of it where the set can hold most of what is ever asked for. Where demand is five times what the set can hold,
    the set is soon full whatever is reserved, and the rest must not keep others off: with all of it one fleet drew 6
    to 23 % more, with nothing gpuspec20 to 33 drew up to 0.9 % more. With the square from 1 on, instead of the fourth
    power from 1.3 on, gpuspec33 (tasks ask for 1.25 times the T4 there are) drew 0.3 % more and that fleet 0.5 %.
    """
    return min(1.0, STILL_HELD / max(asked, 1e-9)) ** 4
