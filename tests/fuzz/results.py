"""A results folder of `wattpack run`, made once, and what may have become of it since."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from fuzz.case import Case, Entry, Folder, lay_out, tree
from fuzz.odd import entry

NODES = b"sn,cpu_milli,memory_mib,gpu,model\nn0,96000,262144,8,G2\nn1,96000,262144,4,T4\n"
TASKS = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli\nt0,1000,1024,1,1000\nt1,4000,1024,1,500\nt2,1000,1024,0,0\n"
EXPERIMENT = b'policy = ["fgd", "pwr"]\ndatacenter = "nodes.csv"\ntrace = "tasks.csv"\nseeds = 1\n'
INPUTS = {"nodes.csv": NODES, "tasks.csv": TASKS, "e.toml": EXPERIMENT}
WORDS = ("run", "e.toml", "--out", "results")


@cache
def finished_results() -> dict[str, Entry]:
    """What the command leaves in `results`, but for the report."""
    with tempfile.TemporaryDirectory() as folder:
        lay_out(Case(WORDS, INPUTS), Path(folder))
        subprocess.run([sys.executable, "-m", "wattpack", *WORDS], cwd=folder, check=True, capture_output=True)
        found = tree(Path(folder))
    return {name: what for name, what in found.items() if name.startswith("results/") and _matters(name, what)}


def _matters(name: str, what: Entry) -> bool:
    return not isinstance(what, Folder) and name.endswith((".json", ".csv", ".parquet"))


@st.composite
def results_folder(draw: Any, faults: bool) -> dict[str, Entry]:
    """The files of the folder; with faults one of them may be spoilt, gone, or something else."""
    files = dict(finished_results())
    if not faults:
        return files
    name = draw(st.sampled_from(sorted(files)))
    whole = files.pop(name)
    assert isinstance(whole, bytes)
    changed = draw(entry(whole, faults))
    return files if changed is None else files | {name: changed}
