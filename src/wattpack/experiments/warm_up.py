"""The first compile on a machine: the engine in this process, the policies in another at the same time.

numba compiles one function at a time in a process, and the two parts share little. Only policies that the command runs
are compiled: all built-in ones took 3 s longer. docs/decisions/010 has what was measured.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

import numpy as np

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.plan import new_plan
from wattpack.engine.moments.simulate import new_simulation
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.experiments.executors import usable_cores
from wattpack.experiments.policy_check.history import small_datacenter, small_workload
from wattpack.jit import is_cold
from wattpack.model.policy import new_world
from wattpack.model.power import PAPER
from wattpack.model.target import Target
from wattpack.model.timed_tasks import TimedTasks
from wattpack.policies import BUILT_IN
from wattpack.policies.expression import parse

CHEAPEST = "random"  # whose own compile takes 0.1 s
ARRIVALS = "wattpack.engine.runs.arrivals"  # the kernels of fill-ups
MOMENTS = "wattpack.engine.moments.loop"  # the kernels of runs in time


def warm_up(expressions: Iterable[str] = (), in_time: bool = False) -> None:
    """Compile these policies and the kernels of runs in time, or else of fill-ups; returns at once if that was done."""
    if not is_cold(MOMENTS if in_time else ARRIVALS):
        return
    used = {component.policy.name for text in set(expressions) for component in parse(text).components}
    other = None
    if usable_cores() > 1 and used & BUILT_IN:
        code = f"import sys; from {__name__} import compile_policies; compile_policies(sys.argv[1:])"
        command = [sys.executable, "-c", code, *sorted(used & BUILT_IN)]
        silent = subprocess.DEVNULL
        other = subprocess.Popen(command, stdin=silent, stdout=silent, stderr=silent)
    try:
        if in_time:
            compile_moments()
        else:
            compile_engine()
        if other is not None:
            other.wait()  # if it failed, what is missing is compiled when it is used
    except BaseException:
        if other is not None:
            other.kill()
        raise


def compile_engine() -> None:
    """Everything but the policies."""
    workload = small_workload()
    engine = Engine(small_datacenter(), workload.classes, parse(CHEAPEST), Target.of(workload))
    run_arrivals(engine, workload, draw_luck(workload, None))


def compile_moments() -> None:
    """Runs in time: before workers start, each of which would compile them."""
    workload = small_workload()
    times = np.zeros(len(workload))
    new_simulation(
        small_datacenter(), TimedTasks(workload, times, times + 1), parse(CHEAPEST), Target.of(workload)
    ).record()


def compile_policies(names: Iterable[str]) -> None:
    """These built-in policies."""
    datacenter, target = small_datacenter(), Target.of(small_workload())
    world = new_world(datacenter, target, PAPER)
    for name in names:
        new_plan(parse(name), datacenter, target, PAPER, world)
