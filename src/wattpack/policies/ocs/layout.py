"""Array layout of `ocs`: where the parts of its terms, memory, notes and parameters start.

A class names the parts of one float64 array in their order; `lay_out` gives each part its place, one behind another.
Kernels read `params[PARAM.worth + milli]`. Letters such as dV and B_s are those of policy.py and docs/guide/ocs.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import NamedTuple, TypeVar

from wattpack.model.nodes import MAX_GPUS, NOTES
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import MAX_MODELS

# Worths are rounded to multiples of this, so that running sums over the datacenter are exact and `release` undoes
# `place`.
GRAIN = 2.0**-20
QUANTILES = 20  # equal parts of the demand, by vCPU per GPU
MAX_SIZES = 4  # multi-GPU sizes with a price: those with the most demand
MAX_SETS = 24  # sets of node shapes that tasks depend on (scarcity.py)
MAX_GROUPS = 8  # groups of node shapes: shapes that are in the same sets have one price
MAX_RESERVES = 24  # requests that room is kept for (reserves.py)
# Of a plan (plan.py). A fleet or target with more has no plan.
MAX_CLASSES, MAX_KINDS, MAX_TYPES = 1024, 96, 16
SLICES = 7  # equal parts of the load that is planned for
VCPU_STEP_MILLI = 100
VCPU_STEPS = 641  # 0 to 64 vCPU; a node with more idle vCPU counts as one with 64
LEVEL_MILLI = 50
FREE = GPU_MILLI // LEVEL_MILLI + 1  # level of a node with a free GPU; lower levels: its largest part of a GPU in use
LEVELS = FREE + 1

Parts = TypeVar("Parts", bound=NamedTuple)


def lay_out(parts: type[Parts], lengths: Mapping[str, int]) -> Parts:
    """The place of each part; a part that `lengths` does not name is one number. The last field is the whole length."""
    *names, end = parts._fields
    if end != "end" or not lengths.keys() <= set(names):
        raise ValueError(f"{parts.__name__}: expected `end` as last field and lengths of {names}, got {lengths}")
    return parts._make(accumulate((lengths.get(name, 1) for name in names), initial=0))


def names_of(parts: type[Parts], lengths: Mapping[str, int]) -> tuple[str, ...]:
    """A name for each number of the array: `power`, or `slots_1`, `slots_2` ... for a part with a length."""
    found: list[str] = []
    for name in parts._fields[:-1]:
        found += [f"{name}_{i + 1}" for i in range(lengths[name])] if name in lengths else [name]
    return tuple(found)


class Terms(NamedTuple):
    """The terms of a score: what a placement costs, before the prices."""

    power: int  # dP + slack, watts
    ahead: int  # 0.5 * dE, watts
    tight: int  # left, as a share of a GPU
    gpus: int  # dS + dV, GPUs
    drain: int  # GV * max(1, dV)
    slots: int  # [MAX_SIZES] dB_s, GPUs
    scarce: int  # [MAX_GROUPS] max(dV, dV + dS) on nodes of a group of shapes, 0 elsewhere
    stranded: int  # dS, GPUs
    fragments: int  # dF, GPUs
    reserved: int  # [MAX_RESERVES] room taken from tasks that it is kept for, GPUs
    plan: int  # [MAX_TYPES] 1 on nodes of a type, 0 elsewhere; only with a plan
    end: int


class Memory(NamedTuple):
    """What the policy remembers: exact sums over the nodes, and how much came and left lately."""

    free_worth: int  # sum of GV
    free_slots: int  # [MAX_SIZES] sum of B_s
    set_usable: int  # [MAX_SETS] sum of GV - S over the nodes of the set
    free_vcpu: int  # sum of the milli-vCPU left
    reserve_room: int  # [MAX_RESERVES] sum of the room for each request
    arrived: int  # milli-GPU that came, fading
    released: int  # milli-GPU that left, fading
    came: int  # [MAX_KINDS] amount of each kind of task that came; from here on only with a plan
    held: int  # [MAX_KINDS, MAX_TYPES] amount of each kind on the nodes of each type
    end: int


class Notes(NamedTuple):
    """What `score` needs of a node before the placement; without these notes a score takes twice the time."""

    worth: int  # GV
    stranded: int  # S
    usable: int  # GV - S, a multiple of GRAIN
    sockets_ahead_w: int
    slots: int  # [MAX_SIZES] B_s
    end: int


class Params(NamedTuple):
    """What is fixed for a run: statistics of the target workload (statistics.py) and the look ahead (ahead.py)."""

    worth: int  # [1001] V(r): GPUs that r free milli of one GPU are worth
    strands: int  # [QUANTILES] 1 / kappa_q, ascending: GPUs that one milli-vCPU keeps usable
    strand_sums: int  # [QUANTILES + 1] sums of the first q of them
    capacity: int  # GPUs of the datacenter that can be filled: those that it has vCPU for
    gpus_per_vcpu: int  # GPUs that the target asks for with each milli-vCPU
    gpu_w: int  # watts of a typical GPU (fleet.py)
    spread_w: int  # most watts between two places (fleet.py)
    fragments: int  # how much the price of fragments counts, in lambda
    constrained: int  # 1 where tasks name models
    service: int  # D, the knob
    last_part: int  # share of the datacenter that structural demand is not planned for
    margin: int  # standard deviations more tasks than expected that slots, shapes and room are kept for
    size_count: int  # number of multi-GPU sizes
    size: int  # [MAX_SIZES] s
    size_per_cpu: int  # [MAX_SIZES] 1 / c_s, per milli-vCPU
    size_gpus: int  # [MAX_SIZES, MAX_GPUS + 1] GPUs that tasks of s GPUs can use, by the number of free GPUs
    size_demand: int  # [MAX_SIZES] d_s
    set_count: int  # number of sets of node shapes, small ones first
    set_structure: int  # [MAX_SETS] demand that depends on the set because of its GPUs or vCPU
    set_named: int  # [MAX_SETS] demand that depends on it because of the models that it names
    set_held: int  # [MAX_SETS] of demand beyond what is free on the set, the share that still counts in larger sets
    set_within: int  # [MAX_SETS, MAX_SETS] 1 where the second set is part of the first
    group_count: int  # number of groups of shapes
    group_in: int  # [MAX_GROUPS, MAX_SETS] 1 where the shapes of the group are in the set
    socket_vcpu: int  # vCPU of a socket, mean over the fleet's sockets
    wake_w: int  # watts of waking a GPU of the median model, by watts
    wake_share: int  # the same as a share of that GPU's watts: 1 in the step model, about 0 in a linear one
    merit: int  # [MAX_MODELS] 1 up to the median model's draw, 0 one socket's watts above it
    no_gpu_fits: int  # [VCPU_STEPS] F0
    gpu_fits: int  # [LEVELS, VCPU_STEPS] F1
    part_fits: int  # [1001] G
    reserve_count: int  # requests that room is kept for, 0 with a knob below 1
    fleet_models: int  # models of the fleet, as bits
    reserve_gpus: int  # [MAX_RESERVES] GPUs of the request
    reserve_milli: int  # [MAX_RESERVES] milli-GPU on each of them
    reserve_cpu: int  # [MAX_RESERVES] milli-vCPU, at least 1
    reserve_memory: int  # [MAX_RESERVES] MiB, at least 1
    reserve_models: int  # [MAX_RESERVES] models that it may use, as bits
    reserve_worth: int  # [MAX_RESERVES] effective GPUs
    reserve_demand: int  # [MAX_RESERVES] how many times it is asked for, per GPU asked for
    reserve_asked: int  # [MAX_RESERVES] in a full datacenter, as a share of the room of the empty one
    class_count: int  # classes with a plan, 0 without one
    class_cpu: int  # [MAX_CLASSES] milli-vCPU
    class_request: int  # [MAX_CLASSES] milli-GPU
    class_models: int  # [MAX_CLASSES] mask of models
    class_kind: int  # [MAX_CLASSES] its kind
    class_amount: int  # [MAX_CLASSES] effective GPUs of one task, or their like in vCPU
    kind_total: int  # [MAX_KINDS] amount that is expected up to the load that is planned for
    kind_limit: int  # [MAX_KINDS, MAX_TYPES, SLICES] amount that each node type takes by the end of each slice
    end: int  # from here on: group of each node type, -1 where its price is always 0


_TERM_LENGTHS = {"slots": MAX_SIZES, "scarce": MAX_GROUPS, "reserved": MAX_RESERVES, "plan": MAX_TYPES}

TERM = lay_out(Terms, _TERM_LENGTHS)
TERM_NAMES = names_of(Terms, _TERM_LENGTHS)
MEMORY = lay_out(
    Memory,
    {
        "free_slots": MAX_SIZES,
        "set_usable": MAX_SETS,
        "reserve_room": MAX_RESERVES,
        "came": MAX_KINDS,
        "held": MAX_KINDS * MAX_TYPES,
    },
)
NOTE = lay_out(Notes, {"slots": MAX_SIZES})
PARAM = lay_out(
    Params,
    {
        "worth": GPU_MILLI + 1,
        "strands": QUANTILES,
        "strand_sums": QUANTILES + 1,
        "size": MAX_SIZES,
        "size_per_cpu": MAX_SIZES,
        "size_gpus": MAX_SIZES * (MAX_GPUS + 1),
        "size_demand": MAX_SIZES,
        "set_structure": MAX_SETS,
        "set_named": MAX_SETS,
        "set_held": MAX_SETS,
        "set_within": MAX_SETS * MAX_SETS,
        "group_in": MAX_GROUPS * MAX_SETS,
        "merit": MAX_MODELS,
        "no_gpu_fits": VCPU_STEPS,
        "gpu_fits": LEVELS * VCPU_STEPS,
        "part_fits": GPU_MILLI + 1,
        "reserve_gpus": MAX_RESERVES,
        "reserve_milli": MAX_RESERVES,
        "reserve_cpu": MAX_RESERVES,
        "reserve_memory": MAX_RESERVES,
        "reserve_models": MAX_RESERVES,
        "reserve_worth": MAX_RESERVES,
        "reserve_demand": MAX_RESERVES,
        "reserve_asked": MAX_RESERVES,
        "class_cpu": MAX_CLASSES,
        "class_request": MAX_CLASSES,
        "class_models": MAX_CLASSES,
        "class_kind": MAX_CLASSES,
        "class_amount": MAX_CLASSES,
        "kind_total": MAX_KINDS,
        "kind_limit": MAX_KINDS * MAX_TYPES * SLICES,
    },
)
assert NOTE.end <= NOTES
