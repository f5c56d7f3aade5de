"""The first compile on a machine: the engine in this process, the policies in another at the same time.

Measured on two cores, when all of it took 17 s: 12 s for everything that `compare` needs. It is 24 s now, nearly all of
it the engine (benchmarks/results/startup.json); why was not looked into. numba compiles one function at a time in a
process, and the two parts share little.
"""

from __future__ import annotations

import subprocess
import sys

from wattpack.engine.core.engine import Engine
from wattpack.engine.core.plan import new_plan
from wattpack.engine.runs.arrivals import draw_luck, run_arrivals
from wattpack.experiments.executors import usable_cores
from wattpack.experiments.policy_check.history import small_datacenter, small_workload
from wattpack.jit import is_cold
from wattpack.model.policy import new_world
from wattpack.model.power import PAPER
from wattpack.model.target import Target
from wattpack.policies import BUILT_IN
from wattpack.policies.expression import parse

CHEAPEST = "random"  # whose own compile takes 0.1 s


def warm_up() -> None:
    """Fill the compile cache if it is empty; returns at once if it is not."""
    if not is_cold():
        return
    other = None
    if usable_cores() > 1:
        code = f"from {__name__} import compile_policies; compile_policies()"
        silent = subprocess.DEVNULL
        other = subprocess.Popen([sys.executable, "-c", code], stdin=silent, stdout=silent, stderr=silent)
    try:
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


def compile_policies() -> None:
    """Every built-in policy."""
    datacenter, target = small_datacenter(), Target.of(small_workload())
    world = new_world(datacenter, target, PAPER)
    for name in sorted(BUILT_IN):
        new_plan(parse(name), datacenter, target, PAPER, world)
