"""A sweep of 1,000 scenarios on Dask with 1, 2, ... workers on this machine: efficiency, and the coordinator's memory.

The coordinator is a process of its own; its peak memory is given for 250 and for all runs: it must not grow with them.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from wattpack.datasets import alibaba2023
from wattpack.experiments.executors import usable_cores
from wattpack.experiments.folder import ResultsFolder
from wattpack.experiments.lineup import MIXES
from wattpack.experiments.runner import run_all
from wattpack.experiments.scenario import Inputs
from wattpack.experiments.spec.axes import Block, Experiment, resolve
from wattpack.model.power import PAPER

RUNS = 1000
POLICIES = ("fgd", "pwr", *MIXES)


def measure_one(workers: int, runs: int) -> dict[str, Any]:
    inputs = Inputs(
        {alibaba2023.NAME: alibaba2023.datacenter()}, {"default": alibaba2023.trace("default")}, {PAPER.name: PAPER}
    )
    seeds = tuple(range(1000, 1000 + runs // len(POLICIES)))
    experiment = Experiment("sweep", (Block(POLICIES, ("default",), (alibaba2023.NAME,), seeds),), inputs)
    inputs, scenarios = resolve(experiment)
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as folder:
        for path, some in ((first, scenarios[:20]), (folder, scenarios)):  # the first few load everything
            place = ResultsFolder(Path(path))
            outcome = run_all(some, inputs, place, lambda done, everything, what: None, on="dask", workers=workers)
    return {
        "workers": workers,
        "runs": outcome.done,
        "seconds": round(outcome.seconds, 1),
        "runs_a_second": round(outcome.done / outcome.seconds, 1),
        "coordinator_peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


def measure() -> dict[str, Any]:
    rows = []
    for workers, runs in [(1, RUNS // 4), *((workers, RUNS) for workers in range(1, usable_cores() + 1))]:
        command = [sys.executable, "-m", "benchmarks.sweep", str(workers), str(runs)]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        if runs == RUNS and workers == 1:
            alone = row["runs_a_second"]
        if runs == RUNS:
            row["efficiency"] = round(row["runs_a_second"] / (workers * alone), 2)
        rows.append(row)
    return {"what": "start of the cluster included", "rows": rows}


if __name__ == "__main__":
    print(json.dumps(measure_one(int(sys.argv[1]), int(sys.argv[2]))))
