"""Placed tasks in the words of the reference, a defragmentation of them, and random tiny clusters."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

import reference
from builders import gpus_of, make_datacenter, make_target, make_workload
from optimise.brute import Content, State
from reference import Gpus, Node, Task
from wattpack.datasets.placements import Placements
from wattpack.datasets.running_tasks import Rule, kept_from_slower
from wattpack.engine.core.engine import Engine
from wattpack.optimise.bound.offline import place_all
from wattpack.optimise.defrag.search import Defrag, Move
from wattpack.policies.expression import parse


class Placed(NamedTuple):
    """Nodes of the reference with tasks on them, and where each task is."""

    nodes: list[Node]
    tasks: list[Task]
    at: list[tuple[int, Gpus] | None]


def place(nodes: list[Node], tasks: list[Task], at: Sequence[tuple[int, Gpus] | None]) -> Placed:
    for task, where in zip(tasks, at, strict=True):
        if where is not None:
            reference.place(nodes[where[0]], task, where[1])
    return Placed(nodes, tasks, list(at))


def defrag_of(placed: Placed, worth_w: float, rule: Rule | None = None) -> Defrag:
    """`rule`: of the models to which tasks may go, as `wattpack defrag` has it."""
    empty = [Node(n.name, n.cpu_milli, n.memory_mib, n.gpu, n.model, n.cpu_model) for n in placed.nodes]
    workload, datacenter = make_workload(placed.tasks), make_datacenter(empty)
    node = np.array([-1 if where is None else where[0] for where in placed.at], dtype=np.int32)
    gpus = np.array([0 if where is None else sum(1 << g for g in where[1]) for where in placed.at], dtype=np.int32)
    if rule is not None:
        workload = kept_from_slower(workload, Placements(Path(), node, gpus), datacenter, rule)
    engine = Engine(datacenter, workload.classes, parse("fgd"), make_target(placed.tasks))
    assert place_all(engine.state, engine.plan, workload.sequence, node, gpus) == -1
    return Defrag(engine.state, workload.sequence, node, gpus, worth_w)


def watts(nodes: Sequence[Node]) -> float:
    return float(sum(sum(reference.node_power_w(node)) for node in nodes))


def fragmentation_gpus(placed: Placed) -> float:
    target = reference.target_workload(placed.tasks)
    return sum(reference.fragmentation(node, target) for node in placed.nodes) / 1000


def make_move(placed: Placed, move: Move) -> None:
    """On the reference: the new place must have room while the old one is held."""
    task, there = placed.tasks[move.task], placed.nodes[move.to_node]
    assert placed.at[move.task] == (move.from_node, gpus_of(move.from_gpus))
    assert reference.filter_reason(there, task) is None
    new = gpus_of(move.to_gpus)
    assert len(new) == task.num_gpu
    assert all(there.gpu_left[g] >= reference.gpu_milli_each(task) for g in new)
    reference.place(there, task, new)
    reference.release(placed.nodes[move.from_node], task, gpus_of(move.from_gpus))
    placed.at[move.task] = (move.to_node, new)


def tiny_cluster(seed: int) -> Placed:
    """2 to 4 nodes of 2 to 4 GPUs of up to three models with 3 to 7 tasks at random where they fit: a mess.

    Tasks of one class have one name. Sizes are such that GPUs are shared by two or three, and that a node's vCPU and
    its sockets (32 vCPU each) matter.
    """
    rng = Random(seed)
    models = rng.sample(["T4", "G2", "P100", "V100M16", "G3"], rng.randint(1, 3))
    shapes = [(rng.choice([16, 32, 48, 64]), rng.randint(2, 4), rng.choice(models)) for _ in range(rng.randint(1, 3))]
    nodes = []
    for n in range(rng.randint(2, 4)):
        cpu, gpus, model = rng.choice(shapes)
        nodes.append(Node(f"n{n}", cpu * 1000, 262_144, gpus, model))
    classes = []
    for k in range(rng.randint(2, 5)):
        num_gpu, gpu_milli = rng.choice([*[(1, rng.choice(range(100, 800, 50)))] * 4, (1, 1000), (2, 1000), (0, 0)])
        spec = rng.choice(models) if rng.random() < 0.1 else ""
        classes.append(Task(f"k{k}", rng.choice([1, 2, 4, 6, 8, 12, 16, 24]) * 1000, 1024, num_gpu, gpu_milli, spec))
    tasks, at = list[Task](), list[tuple[int, Gpus] | None]()
    for _ in range(rng.randint(3, 7)):
        task = rng.choice(classes)
        fitting = [n for n, node in enumerate(nodes) if reference.filter_reason(node, task) is None]
        if fitting:
            n = rng.choice(fitting)
            gpus = rng.choice(reference.choices(nodes[n], task))
            reference.place(nodes[n], task, gpus)
            tasks.append(task)
            at.append((n, gpus))
    return Placed(nodes, tasks, at)


def state_of(placed: Placed) -> State:
    """As the brute force has it."""
    return tuple(content_of(node) for node in placed.nodes)


def content_of(node: Node) -> Content:
    shared: dict[Gpus, list[Task]] = {}
    for task, gpus in node.tasks:
        if reference.is_sharing(task):
            shared.setdefault(gpus, []).append(task)
    by_gpu = [tuple(sorted(tasks, key=lambda task: task.name)) for tasks in shared.values()]
    rest = [task for task, _ in node.tasks if not reference.is_sharing(task)]
    return (
        tuple(sorted(by_gpu, key=lambda gpu: [task.name for task in gpu])),
        tuple(sorted(rest, key=lambda task: task.name)),
    )
