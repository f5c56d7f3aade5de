"""What the engine needs to know of nodes and pods, and nothing else: equal facts mean that nothing has changed."""

from __future__ import annotations

from typing import NamedTuple

from wattpack.model.tasks import TaskClass

MAX_AMOUNT = 10**12  # milli-vCPU or MiB of one node or pod, as in files: far above any machine, far below overflow


class Held(NamedTuple):
    """A GPU, or a part of one, that a pod holds on its node."""

    # Its number on the node, its id in `gpu_ids`, or a name that the sharers of one GPU have in common; "": not known.
    gpu: str
    milli: int  # at most


class NodeFacts(NamedTuple):
    """A node's allocatable resources and models."""

    name: str
    cpu_milli: int
    memory_mib: int
    gpus: int
    model: str  # a GPU model of the power profile; "" without GPUs
    cpu_model: str  # a CPU of the power profile; "": its default
    gpu_ids: tuple[str, ...] = ()  # of its GPUs, in the order of their numbers, where the node tells them
    capacity_milli: int = 0  # vCPU of the machine, its system's own included; 0: not said, or no more


class PodFacts(NamedTuple):
    """A pod as a task, and where it is."""

    uid: str
    namespace: str
    name: str
    task: TaskClass
    node: str  # "": not bound
    gpus: tuple[int, ...] | None  # of a bound pod, from its annotation; None: it has none
    finished: bool
    scheduler: str
    created: str
    dialect: str = ""  # in which it asks for GPUs; empty: plain nvidia.com/gpu, or no GPU
    claims: tuple[str, ...] = ()  # names of its resource claims, where these are read
    of_node: bool = False  # it belongs to its node, as pods of DaemonSets do: a node with no others is empty
    # What it holds on its node: where the GPUs are named otherwise than by `gpus`, and where no task can say it (shares
    # of several GPUs at once, a request that cannot be read). Then `task` is without GPUs.
    holds: tuple[Held, ...] = ()
    only_by: str = ""  # the scheduler that alone can give it its GPUs: others may count it, not place it
    doubt: str = ""  # why what it asks for cannot be read: `holds` is the most that it can hold then
