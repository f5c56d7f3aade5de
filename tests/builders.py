"""Small builders that keep a test case to a line, in the words of the plain reference, and translate it to wattpack.

A case is made of `reference.Node` and `reference.Task`; `make_datacenter`, `make_workload` and `make_engine` turn them
into what wattpack takes. `place`, `release`, `arrive`, `decide` drive an engine step by step.
"""

import subprocess
import sys
from collections.abc import Sequence

import numpy as np

from reference import Gpus, Node, Task
from wattpack.engine.core.engine import Engine
from wattpack.engine.core.explain import Explanation, explain
from wattpack.engine.core.plan import Plan
from wattpack.engine.core.score_cache import new_scores
from wattpack.engine.core.state import State
from wattpack.engine.core.state import place as place_kernel
from wattpack.engine.core.state import release as release_kernel
from wattpack.engine.runs.arrivals import run_arrivals
from wattpack.engine.runs.record import Run, gpu_index_text
from wattpack.experiments.warm_up import warm_up as compile_in_two_processes
from wattpack.jit import kernel
from wattpack.model.nodes import Datacenter
from wattpack.model.policy import Mix, Policy
from wattpack.model.target import Target
from wattpack.model.tasks import TaskClass, Workload
from wattpack.policies import REGISTRY
from wattpack.policies.expression import parse

SINGLES = ("fgd", "pwr", "bestfit", "dotprod", "gpupacking", "gpuclustering", "random")
MIXES = ("pwr:0.1+fgd:0.9", "fgd:0.5+pwr:0.5", "bestfit:0.2+gpupacking:0.3+fgd:0.5", "random:0.1+pwr:0.9")

Weights = Sequence[tuple[str, int]]  # as the reference has them: (name, thousandths)
Decision = tuple[str | None, Gpus]  # as the reference has them: (node, GPUs)


def make_node(
    gpus: int = 8, cpu: float = 96, memory_mib: int = 393_216, model: str = "G2", name: str = "", cpu_model: str = ""
) -> Node:
    """An empty node; `cpu` in vCPU. Without a name it gets one in `make_datacenter`."""
    return Node(name, round(cpu * 1000), memory_mib, gpus, model if gpus > 0 else "", cpu_model)


def make_task(
    gpu: float = 0, cpu: float = 0, memory_mib: int = 0, spec: str = "", cpu_spec: str = "", name: str = ""
) -> Task:
    """`gpu` as the paper's D_GPU: 0, a part of one GPU, or a number of whole ones; `cpu` in vCPU."""
    num_gpu, gpu_milli = (1, round(gpu * 1000)) if 0 < gpu < 1 else (round(gpu), 1000 if gpu > 0 else 0)
    return Task(name, round(cpu * 1000), memory_mib, num_gpu, gpu_milli, spec, cpu_spec)


def make_datacenter(nodes: Sequence[Node]) -> Datacenter:
    return Datacenter.of(
        [node.name or f"n{i}" for i, node in enumerate(nodes)],
        [node.cpu_milli for node in nodes],
        [node.memory_mib for node in nodes],
        [node.gpu for node in nodes],
        [node.model for node in nodes],
        [node.cpu_model for node in nodes],
    )


def task_class(task: Task) -> TaskClass:
    gpu_milli = task.gpu_milli if task.num_gpu > 0 else 0  # as the CSV reader does
    return TaskClass(task.cpu_milli, task.memory_mib, task.num_gpu, gpu_milli, task.gpu_spec, task.cpu_spec)


def make_workload(tasks: Sequence[Task]) -> Workload:
    return Workload.of([task_class(task) for task in tasks], [task.name or f"t{i}" for i, task in enumerate(tasks)])


def make_target(trace: Sequence[Task]) -> Target:
    return Target.of(make_workload(trace))


def make_mix(policy: str | Weights, *own: Policy) -> Mix:
    """An expression, or the reference's weights; `own`: policies that are not in the registry."""
    text = policy if isinstance(policy, str) else "+".join(f"{name}:{weight / 1000:.3f}" for name, weight in policy)
    return parse(text, {**REGISTRY, **{one.name: one for one in own}})


def make_engine(
    nodes: Sequence[Node],
    tasks: Sequence[Task],
    policy: str | Weights = "fgd",
    *own: Policy,
    trace: Sequence[Task] | None = None,
) -> Engine:
    """An engine on empty nodes for the classes of `tasks`; M comes from `trace`, by default the tasks themselves."""
    target = make_target(tasks if trace is None else trace)
    return Engine(make_datacenter(nodes), make_workload(tasks).classes, make_mix(policy, *own), target)


def without_buckets(engine: Engine) -> Engine:
    """The same engine with the plain scan over the nodes instead of the fast path. Before its first decision."""
    engine.plan = engine.plan._replace(bucketed=False)
    return without_scores(engine)


def without_scores(engine: Engine) -> Engine:
    """The same engine, having to look at every node again."""
    engine.scores = new_scores(engine.state, engine.plan)
    return engine


def with_ring(engine: Engine, length: int) -> Engine:
    """The same engine, remembering only the latest `length` changes of nodes. Before its first decision."""
    state = engine.state
    engine.state = state._replace(changed=state.changed[:length].copy(), touched=state.touched[:, :length].copy())
    engine.scores = new_scores(engine.state, engine.plan)
    return engine


# ---- step by step ----------------------------------------------------------------------------------------------------


@kernel
def change_node(state: State, plan: Plan, k: int, n: int, gpus: int, placing: bool) -> None:
    if placing:
        place_kernel(state, plan, k, n, gpus)
    else:
        release_kernel(state, plan, k, n, gpus)


def class_of(engine: Engine, task: Task) -> int:
    return engine.classes.index(task_class(task))


def place(engine: Engine, task: Task, node: int, gpus: Gpus = ()) -> None:
    """Put the task there, whatever the policy thinks."""
    change_node(engine.state, engine.plan, class_of(engine, task), node, sum(1 << g for g in gpus), True)


def release(engine: Engine, task: Task, node: int, gpus: Gpus = ()) -> None:
    change_node(engine.state, engine.plan, class_of(engine, task), node, sum(1 << g for g in gpus), False)


def arrive(engine: Engine, task: Task, luck: tuple[float, float] = (0.0, 0.0)) -> tuple[int | None, Gpus]:
    """One arrival: decide and place. The node, None if the task failed, and its GPUs."""
    sequence = np.array([class_of(engine, task)], dtype=np.int32)
    run = run_arrivals(engine, Workload(engine.classes, sequence), np.array([luck]))
    return (int(run.node[0]) if run.node[0] >= 0 else None), gpus_of(int(run.gpus[0]))


def come_and_go(engine: Engine, task: Task, times: int) -> None:
    """The task is placed and leaves again, so often."""
    for _ in range(times):
        node, gpus = arrive(engine, task)
        assert node is not None
        release(engine, task, node, gpus)


def decide(engine: Engine, task: Task, luck: tuple[float, float] = (0.0, 0.0)) -> tuple[int | None, Gpus]:
    """Where the task would go now; nothing is placed."""
    seen = explained(engine, task, luck)
    return (seen.node if seen.node >= 0 else None), gpus_of(seen.gpus)


def explained(engine: Engine, task: Task, luck: tuple[float, float] = (0.0, 0.0)) -> Explanation:
    return explain(engine, class_of(engine, task), np.array(luck))


def gpus_of(bits: int) -> Gpus:
    return tuple(int(g) for g in gpu_index_text(bits).split("-") if g != "")


def decisions(run: Run) -> list[Decision]:
    """What `reference.replay` returns."""
    return [(run.node_name(i) or None, gpus_of(int(run.gpus[i]))) for i in range(len(run))]


# ---- from wattpack to the reference ----------------------------------------------------------------------------------


def plain_nodes(datacenter: Datacenter) -> list[Node]:
    """Empty nodes of the reference, of its own each time: the reference changes them."""
    return [
        Node(
            datacenter.names[i],
            int(datacenter.cpu_milli[i]),
            int(datacenter.memory_mib[i]),
            int(datacenter.gpus[i]),
            datacenter.models[datacenter.model[i]],
            datacenter.cpu_models[datacenter.cpu_model[i]],
        )
        for i in range(len(datacenter))
    ]


def plain_tasks(workload: Workload) -> list[Task]:
    return [Task(workload.task_name(i), *workload.classes[k][:6]) for i, k in enumerate(workload.sequence.tolist())]


def plain_weights(mix: Mix) -> Weights:
    return [(component.policy.name, component.weight) for component in mix.components]


def warm_up() -> None:
    """Compile every kernel that many tests need, or load it from the cache folder."""
    code = "from wattpack.experiments.warm_up import compile_moments; compile_moments()"
    other = subprocess.Popen([sys.executable, "-c", code])
    compile_in_two_processes([*SINGLES, "ocs"])
    task = make_task(gpu=0.5, cpu=1)
    for bucketed in ("+".join(SINGLES[:-1]), "random"):
        engine = make_engine([make_node(), make_node()], [task], bucketed)
        arrive(engine, task)
        decide(engine, task)
        release(engine, task, 0, (0,))
    assert other.wait() == 0
