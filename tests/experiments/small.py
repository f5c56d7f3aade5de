"""A small datacenter and trace for tests of the machinery: a run takes milliseconds, and not all tasks fit."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from builders import make_datacenter, make_node, make_task, make_workload
from wattpack.energy.signal import Signal
from wattpack.experiments.scenario import Inputs
from wattpack.experiments.spec.axes import Block, Experiment, first_seeds
from wattpack.experiments.timed_options import Timed
from wattpack.model.power import PROFILES
from wattpack.model.timed_tasks import TimedTasks

NODES = [make_node(gpus=2), make_node(gpus=4, model="T4"), make_node(gpus=8), make_node(gpus=0)]
TASKS = [make_task(gpu=0.5, cpu=4), make_task(gpu=1, cpu=8), make_task(gpu=2, cpu=4), make_task(cpu=10)]

NODES_CSV = "sn,cpu_milli,memory_mib,gpu,model\na,96000,393216,2,G2\nb,96000,393216,8,G2\n"
TASKS_CSV = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + "".join(
    f"t{i},{4000 + i % 3 * 1000},1024,1,{500 if i % 2 else 1000}\n" for i in range(12)
)


def small_inputs() -> Inputs:
    return Inputs({"small": make_datacenter(NODES)}, {"tasks": make_workload(TASKS * 5)}, dict(PROFILES))


def small_experiment(
    policies: Sequence[str] = ("fgd", "pwr:0.1+fgd:0.9", "random"), seeds: int = 2, **axes: tuple[object, ...]
) -> Experiment:
    block = Block(tuple(policies), ("tasks",), ("small",), first_seeds(seeds), **axes)  # type: ignore[arg-type]
    return Experiment("small", (block,), small_inputs())


WORKLOAD = make_workload(TASKS * 5)
COUNT = len(WORKLOAD)


def timed_inputs(signals: dict[tuple[str, str], Signal] | None = None) -> Inputs:
    """Tasks every five minutes that run for an hour, in turn BE and LS."""
    classes = ("BE", "LS") * (COUNT // 2)
    tasks = TimedTasks(WORKLOAD, np.arange(COUNT) * 300.0, np.full(COUNT, 3600.0), service_class=classes)
    nodes, own = {"small": make_datacenter(NODES)}, {"tasks": WORKLOAD}
    return Inputs(nodes, own, dict(PROFILES), {"tasks": tasks}, signals or {}, {"typical": {}})


def timed_experiment(*options: Timed, policies: Sequence[str] = ("fgd",), inputs: Inputs | None = None) -> Experiment:
    timed = options or (Timed(load=0.5, days=0.2),)
    block = Block(tuple(policies), ("tasks",), ("small",), first_seeds(2), up_to=(), timed=timed)
    return Experiment("small", (block,), inputs or timed_inputs())


def write_spec(folder: Path, text: str, name: str = "experiment.toml") -> Path:
    """An experiment file with `nodes.csv` and `tasks.csv` beside it."""
    (folder / "nodes.csv").write_text(NODES_CSV)
    (folder / "tasks.csv").write_text(TASKS_CSV)
    file = folder / name
    file.write_text(text)
    return file


SMALL_SPEC = """
datacenter = "nodes.csv"
trace = "tasks.csv"
policy = ["fgd", "pwr:0.1+fgd:0.9", "bestfit"]
seeds = 2
"""


def run_files(out: Path, folder: str = "runs") -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((out / folder).iterdir())}


# A policy of the user's own. With MARK it kills its process in the first run that comes to it, once; with a text in
# FAULT every run fails; DEADLY kills every process that runs it.
PLUGIN = """
import os, signal
from pathlib import Path
import numpy as np
from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU, Policy
from wattpack.policies import register

MARK, FAULT, DEADLY = {mark!r}, {fault!r}, {deadly!r}

@kernel
def score(node, task, world, params, memory, terms):
    terms[0] = -node.cpu_left // 1000
    return ANY_GPU

def prepare(datacenter, target, profile):
    if FAULT:
        raise ValueError(FAULT)
    if DEADLY or (MARK and not Path(MARK).exists()):
        if MARK:
            Path(MARK).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return np.zeros(0)

register(Policy({name!r}, "for tests", score, prepare=prepare))
"""


def write_plugin(folder: Path, name: str = "own", mark: str = "", fault: str = "", deadly: bool = False) -> Path:
    file = folder / f"{name}_policy.py"
    file.write_text(PLUGIN.format(name=name, mark=mark, fault=fault, deadly=deadly))
    return file
