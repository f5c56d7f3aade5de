"""Hypothesis strategies: small random clusters, task lists and policies, in the words of the plain reference.

Amounts are drawn so that the hard cases are common: nodes alike (equal scores), nodes that fill up, odd CPU amounts,
tasks of few classes that come again, tasks that fit nowhere.
"""

from typing import NamedTuple

from hypothesis import strategies as st

from reference import DEFAULT_CPU_MODEL, PICKER_ORDER, Node, Task

MODELS = ("T4", "G2", "G3", "P100", "V100M16", "V100M32", "A10")
MODEL_OF_NO_NODE = "A100"
CPU_MODEL_OF_NO_NODE = "EPYC 7763"


class Case(NamedTuple):
    nodes: list[Node]
    tasks: list[Task]
    policy: list[tuple[str, int]]
    trace: list[Task]  # what the target workload comes from


def node_cpus() -> st.SearchStrategy[int]:
    """Round amounts, amounts beside a core (2000) or a socket (32000), and a few too small for most tasks."""
    return st.sampled_from([16000, 31999, 32000, 32001, 33000, 64000, 96000, 128000]) | st.integers(0, 40_000)


def task_cpus() -> st.SearchStrategy[int]:
    return st.sampled_from([0, 1, 999, 2000, 2001, 4000, 8000, 16000]) | st.integers(0, 6_000)


def gpu_specs() -> st.SearchStrategy[str]:
    """Mostly empty; else one model, several, one of them twice, or a model that no node has."""
    several = ["T4|G2", "P100|V100M16|V100M32", "V100M16|V100M32|V100M32", f"{MODEL_OF_NO_NODE}|G3"]
    return mostly("", st.sampled_from([*MODELS, *several, MODEL_OF_NO_NODE]), one_in=5)


def cpu_specs() -> st.SearchStrategy[str]:
    """Nearly always empty; else the one CPU model there is, or one that no node has."""
    either = f"{CPU_MODEL_OF_NO_NODE}|{DEFAULT_CPU_MODEL}"
    return mostly("", st.sampled_from([DEFAULT_CPU_MODEL, either, CPU_MODEL_OF_NO_NODE]), one_in=16)


def mostly(usual: str, rare: st.SearchStrategy[str], one_in: int) -> st.SearchStrategy[str]:
    return st.sampled_from(range(one_in)).flatmap(lambda n: rare if n == one_in - 1 else st.just(usual))


@st.composite
def node_shapes(draw: st.DrawFn) -> Node:
    gpu = draw(st.sampled_from([0, 1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8]))
    return Node(
        name="",
        cpu_milli=draw(node_cpus()),
        memory_mib=draw(st.sampled_from([262144, 262144, 262144, 65536, 4096, 100, 0])),
        gpu=gpu,
        model=draw(st.sampled_from(MODELS)) if gpu > 0 else "",
        cpu_model=draw(st.sampled_from(["", "", DEFAULT_CPU_MODEL])),
    )


@st.composite
def clusters(draw: st.DrawFn, max_nodes: int = 6) -> list[Node]:
    """1 to max_nodes empty nodes of at most three shapes, named n0, n1, ... in node order."""
    shapes = draw(st.lists(node_shapes(), min_size=1, max_size=3))
    size = draw(st.sampled_from(range(1, max_nodes + 1)))
    picked = draw(st.lists(st.sampled_from(shapes), min_size=size, max_size=size))
    return [Node(f"n{i}", s.cpu_milli, s.memory_mib, s.gpu, s.model, s.cpu_model) for i, s in enumerate(picked)]


@st.composite
def task_shapes(draw: st.DrawFn) -> Task:
    kind = draw(st.sampled_from(["share", "share", "whole", "multi", "cpu_only"]))
    if kind == "share":
        num_gpu, gpu_milli = 1, draw(st.sampled_from([1, 100, 250, 333, 500, 501, 999]) | st.integers(1, 999))
    elif kind == "whole":
        num_gpu, gpu_milli = 1, 1000
    elif kind == "multi":
        num_gpu, gpu_milli = draw(st.sampled_from([2, 2, 2, 3, 4, 8])), 1000
    else:
        num_gpu, gpu_milli = 0, draw(st.sampled_from([0, 0, 500, 1000]))  # not 0: must be ignored
    return Task(
        name="",
        cpu_milli=draw(task_cpus()),
        memory_mib=draw(st.sampled_from([0, 1, 50, 1024, 4096, 4096, 30517])),
        num_gpu=num_gpu,
        gpu_milli=gpu_milli,
        gpu_spec=draw(gpu_specs()),
        cpu_spec=draw(cpu_specs()),
    )


@st.composite
def task_lists(draw: st.DrawFn, max_tasks: int = 40) -> list[Task]:
    """1 to max_tasks tasks of at most eight shapes, named t0, t1, ... in order of arrival."""
    shapes = draw(st.lists(task_shapes(), min_size=1, max_size=8))
    size = draw(st.sampled_from(range(1, max_tasks + 1)))
    picked = draw(st.lists(st.sampled_from(shapes), min_size=size, max_size=size))
    return [
        Task(f"t{i}", s.cpu_milli, s.memory_mib, s.num_gpu, s.gpu_milli, s.gpu_spec, s.cpu_spec)
        for i, s in enumerate(picked)
    ]


@st.composite
def policies(draw: st.DrawFn) -> list[tuple[str, int]]:
    """One plugin with weight 1000, or a mix of two or three, often of equal weights (the picker's tie)."""
    names = draw(st.lists(st.sampled_from(PICKER_ORDER), min_size=1, max_size=3, unique=True))
    if len(names) == 1:
        return [(names[0], 1000)]
    weights = st.sampled_from([100, 500, 500, 900]) | st.integers(1, 3000)
    return [(name, draw(weights)) for name in names]


def cases() -> st.SearchStrategy[Case]:
    """A whole run. Half of the traces are the tasks themselves, as in `wattpack replay` without --target."""

    def with_trace(tasks: list[Task]) -> st.SearchStrategy[Case]:
        return st.builds(Case, clusters(), st.just(tasks), policies(), st.just(tasks) | task_lists())

    return task_lists().flatmap(with_trace)
