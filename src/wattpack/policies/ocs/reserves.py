"""Reserves: room that is kept for whole tasks that few nodes can hold, from knob 1 on.

A request is what a class of the target asks for: GPUs or a part of one, vCPU, models, and memory in the mean over its
tasks. A task depends on a request if it asks for at least as many GPUs and vCPU and for none but its models. Per
request R:

    room(node)  how many times the node could hold R as it is now: whole tasks, not a fluid
    demand      how many times the tasks that depend on R ask for it, per GPU asked for

prices.py compares the demand to come with the room that is free. A task that does not depend on R pays for the room
that it takes from it. Scarce shapes (scarcity.py) count GPUs with vCPU on empty nodes; of a task of one GPU and 11 vCPU
on nodes of 8 vCPU a GPU, or of 8 GPUs and 64 vCPU on nodes that are half full, they see nothing; nor of memory at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.power import GPU_MILLI
from wattpack.model.records import Floats, NodeRecord, TaskRecord
from wattpack.model.target import Target
from wattpack.model.tasks import models_mask
from wattpack.policies.ocs.layout import MAX_RESERVES, PARAM
from wattpack.policies.ocs.scarcity import still_counts
from wattpack.policies.ocs.statistics import effective_gpus, fill, gpu_worth

# Requests of which most is asked for, against the room. Where only these were watched, requests of one GPU that nearly
# every node can hold took all places: tasks of 8 GPUs and 120 vCPU, one in two runs, were refused on fleet 704, and
# `auto` chose FGD, which draws 23 % more than the best mix. So the others are for tasks of several GPUs, however rare.
MOST_ASKED_FOR = 16
# Of a request of which less than this share of the room is asked for, no room is kept: ever, and of several GPUs in two
# standard deviations more than ever.
LEAST_ASKED, LEAST_ASKED_RARELY = 0.03, 0.01
# Nor of what more than this share of the demand depends on: then hardly any task is left that should keep away.
MOST_DEPEND = 0.3
# Memory is a part of a request where it leaves less than this share of the room. As a part of all of them it brings
# more watts and less GRAR: requests that differ in memory alone take the places of others.
MEMORY_COUNTS = 0.9
ALIKE = 1.3  # requests that differ by less than this many times in vCPU and memory have one reserve
MOST_CANDIDATES = 300  # the classes with the most demand; a target of 6,000 classes would take seconds
MOST_MODELS = 52  # their bits are whole numbers in a float64


class Request(NamedTuple):
    """What a class asks for, and what is known of it in the empty fleet."""

    num_gpu: int
    gpu_milli: int
    cpu_milli: int
    models: int  # bits of the models of the fleet that it may use
    memory_mib: int
    worth: float  # effective GPUs
    demand: float  # how many times it is asked for, per effective GPU asked for
    room: float  # how many times the empty fleet holds it

    def like(self, other: Request) -> bool:
        same = (self.num_gpu, self.gpu_milli, self.models) == (other.num_gpu, other.gpu_milli, other.models)
        pairs = ((self.cpu_milli, other.cpu_milli), (self.memory_mib, other.memory_mib))
        return same and all(1 / ALIKE < max(a, 1) / max(b, 1) < ALIKE for a, b in pairs)

    def asked(self, capacity: float) -> float:
        """How much of the room is asked for by a full datacenter; above STILL_HELD ever less, as in the prices."""
        asked = self.demand * capacity / self.room
        return asked * still_counts(asked)

    def asked_rarely(self, capacity: float) -> float:
        """The same for two standard deviations more tasks than expected."""
        times = self.asked(capacity) * self.room
        return (times + 2 * math.sqrt(times)) / self.room


class Holder(NamedTuple):
    """Nodes alike in all that a request asks for."""

    gpus: int
    cpu_milli: int
    model: int
    memory_mib: int
    nodes: int  # how many there are


def holders_of(datacenter: Datacenter) -> tuple[Holder, ...]:
    columns = (datacenter.gpus, datacenter.cpu_milli, datacenter.model, datacenter.memory_mib)
    rows, counts = np.unique(np.stack(columns), axis=1, return_counts=True)
    return tuple(Holder._make([*row, count]) for row, count in zip(rows.T.tolist(), counts.tolist(), strict=True))


@lru_cache(maxsize=64)  # all runs of a comparison on one trace share it
def scarce_requests(
    target: Target, nodes: tuple[Holder, ...], models: tuple[str, ...], capacity: float
) -> tuple[Request, ...]:
    """The requests that room is kept for, those first of whose room most is asked for.

    `target`: without classes that fit nowhere; `capacity`: GPUs that can be filled.
    """
    classes = target.uncut or target.classes
    here = models_of(nodes)
    if len(models) > MOST_MODELS:
        return ()
    worth = gpu_worth(classes)
    gpus = np.array([effective_gpus(task, worth) for task in classes])
    share = np.array([task.share for task in classes])
    num = np.array([task.num_gpu for task in classes])
    milli = np.array([task.gpu_milli if task.num_gpu > 0 else 0 for task in classes])
    cpu = np.array([task.cpu_milli for task in classes])
    memory_mib = target.memory_mib or (0,) * len(classes)
    mask = np.array([models_mask(task.gpu_spec, models) & here for task in classes], dtype=np.int64)
    all_gpus = float(share @ gpus)
    candidates = [c for c in np.argsort(-share * gpus, kind="stable")[:MOST_CANDIDATES].tolist() if num[c] > 0]
    table = np.array(nodes, dtype=np.int64).reshape(-1, len(Holder._fields))
    found: dict[tuple[int, ...], Request] = {}
    for c in candidates:
        own = int(num[c]), int(milli[c]), int(cpu[c]), int(mask[c]), memory_mib[c]
        room, without = _room_while_empty(table, *own), _room_while_empty(table, *own[:4], 0)
        if room >= MEMORY_COUNTS * without:
            own, room = (*own[:4], 0), without
        depends = (num >= num[c]) & (milli >= milli[c]) & (cpu >= cpu[c]) & ((mask & ~mask[c]) == 0)
        if room == 0 or float((share * gpus)[depends].sum()) > MOST_DEPEND * all_gpus:
            continue
        times = float((share * num / num[c])[depends].sum()) / all_gpus
        found.setdefault(own, Request(*own, float(gpus[c]), times, room))
    often = [one for one in found.values() if one.asked(capacity) >= LEAST_ASKED]
    often.sort(key=lambda one: -one.asked(capacity))
    # Where vCPU runs out before GPUs, keeping it for those who ask for most of it serves less: up to 0.007 of GRAR.
    enough_vcpu = capacity >= sum(one.gpus * one.nodes for one in nodes)
    several = [one for one in found.values() if enough_vcpu and one.num_gpu > 1]
    rarely = [one for one in several if one.asked_rarely(capacity) >= LEAST_ASKED_RARELY]
    rarely.sort(key=lambda one: -one.asked_rarely(capacity))
    kept: list[Request] = []
    for ranked, most in ((often, MOST_ASKED_FOR), (rarely, MAX_RESERVES)):
        for one in ranked:
            if len(kept) < most and not any(one.like(other) for other in kept):
                kept.append(one)
    return tuple(kept)


def _room_while_empty(
    table: NDArray[np.int64], num_gpu: int, gpu_milli: int, cpu_milli: int, models: int, memory_mib: int
) -> float:
    """How many times the nodes hold the request while empty. Real nodes differ in memory: there may be thousands."""
    gpus, cpu, model, memory, nodes = table.T
    by_gpu = gpus // num_gpu if gpu_milli == GPU_MILLI else gpus * (GPU_MILLI // gpu_milli)
    times = np.minimum(by_gpu, np.minimum(cpu // max(cpu_milli, 1), memory // max(memory_mib, 1)))
    return float((nodes * times * (models >> model & 1)).sum())


def models_of(nodes: Sequence[Holder]) -> int:
    """The models of the fleet, as bits."""
    found = 0
    for one in nodes:
        found |= (1 << one.model) if one.gpus > 0 else 0
    return found


def fill_reserves(params: NDArray[np.float64], datacenter: Datacenter, target: Target) -> None:
    """Write the requests of a target into the parameters; modifies `params`."""
    nodes = holders_of(datacenter)
    requests = scarce_requests(target, nodes, datacenter.models, float(params[PARAM.capacity]))
    params[PARAM.reserve_count] = len(requests)
    params[PARAM.fleet_models] = models_of(nodes)
    columns: dict[int, list[float]] = {
        PARAM.reserve_gpus: [one.num_gpu for one in requests],
        PARAM.reserve_milli: [one.gpu_milli for one in requests],
        PARAM.reserve_cpu: [max(one.cpu_milli, 1) for one in requests],
        PARAM.reserve_memory: [max(one.memory_mib, 1) for one in requests],
        PARAM.reserve_models: [one.models for one in requests],
        PARAM.reserve_worth: [one.worth for one in requests],
        PARAM.reserve_demand: [one.demand for one in requests],
        PARAM.reserve_asked: [one.demand * params[PARAM.capacity] / one.room for one in requests],
    }
    for place, values in columns.items():
        fill(params, place, values)


@kernel
def room(
    node: NodeRecord,
    r: int,
    gpu_free: int,
    cpu_left: int,
    memory_left: int,
    gpu: int,
    gpu_left: int,
    params: Floats,
) -> float:
    """How many times the node could hold request r with so much left; `gpu_left`: milli left on GPU `gpu`."""
    if (int(params[PARAM.reserve_models + r]) >> node.model) & 1 == 0 or node.gpus == 0:
        return 0.0
    times = min(cpu_left // int(params[PARAM.reserve_cpu + r]), memory_left // int(params[PARAM.reserve_memory + r]))
    if times == 0:
        return 0.0
    milli = int(params[PARAM.reserve_milli + r])
    by_gpu = gpu_free // int(params[PARAM.reserve_gpus + r])
    if milli < GPU_MILLI:
        by_gpu = 0
        for g in range(node.gpus):
            by_gpu += (gpu_left if g == gpu else node.gpu_left[g]) // milli
    return float(min(by_gpu, times))


@kernel
def whole_places(node: NodeRecord, r: int, params: Floats) -> float:
    """The room of the node as it is."""
    return room(node, r, node.gpu_free, node.cpu_left, node.memory_left, -1, 0, params)


@kernel
def depends(task: TaskRecord, r: int, params: Floats) -> bool:
    """Whether the task is one of those that room is kept for."""
    if task.num_gpu < params[PARAM.reserve_gpus + r] or task.cpu_milli < params[PARAM.reserve_cpu + r]:
        return False
    if task.kind == 0 and task.gpu_milli < params[PARAM.reserve_milli + r]:
        return False
    others = int(params[PARAM.fleet_models]) & ~int(params[PARAM.reserve_models + r])
    return (task.gpu_models & others) == 0


@kernel
def room_taken(
    node: NodeRecord, task: TaskRecord, r: int, gpu: int, left_after: int, free_after: int, taken: float, params: Floats
) -> float:
    """Effective GPUs of room for request r that the task takes from those that it is kept for; `taken`: its dV."""
    if depends(task, r, params):
        return 0.0
    before = whole_places(node, r, params)
    if before == 0.0:
        return 0.0
    memory_after = node.memory_left - task.memory_mib
    lost = before - room(node, r, free_after, node.cpu_left - task.cpu_milli, memory_after, gpu, left_after, params)
    worth = params[PARAM.reserve_worth + r]
    # As with slots: the first task that breaks a place up must not pay for all of it.
    by_cpu, by_memory = params[PARAM.reserve_cpu + r], params[PARAM.reserve_memory + r]
    own = max(task.cpu_milli / by_cpu, task.memory_mib / by_memory)  # of one place
    return min(lost * worth, max(taken, worth * own))
