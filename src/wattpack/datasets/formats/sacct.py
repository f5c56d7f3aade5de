"""What Slurm's `sacct --parsable2` prints: cells between `|`, a header with the fields that were asked for."""

from __future__ import annotations

import math
import re
from functools import partial

from wattpack.datasets.formats.amounts import duration_between, is_missing, number, stamp_s, whole, workers_of, zone_of
from wattpack.datasets.formats.format import Assumed, BadLine, Format, Job, NotATask
from wattpack.datasets.formats.tables import Cells, table_records

COLUMNS = ("JobID", "Submit", "Start", "End", "State", "AllocTRES")
COMMAND = "sacct -a -X --parsable2 --format=JobID,Submit,Start,End,State,NNodes,AllocTRES,ReqTRES,User"
GPU = "gres/gpu"
MIB = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
MEMORY = re.compile(r"([0-9.]+)([KMGTP]?)")


def job(cells: Cells, assumed: Assumed) -> Job:
    if "." in cells["JobID"]:
        raise NotATask("steps of jobs")
    zone = zone_of(assumed.time_zone)
    submitted_s = stamp_s(cells["Submit"], "Submit", zone)
    if is_missing(cells["Start"]):
        raise NotATask("never started")
    start_s, duration_s = stamp_s(cells["Start"], "Start", zone), math.inf
    if not is_missing(cells["End"]):
        duration_s = duration_between(start_s, stamp_s(cells["End"], "End", zone))
    tres = _tres(cells["AllocTRES"] or cells.get("ReqTRES", ""))
    if not tres:
        raise NotATask("nothing allocated")
    typed = [whole(amount, name) for name, amount in tres.items() if name.startswith(f"{GPU}:")]
    gpus = whole(tres[GPU], GPU) if GPU in tres else sum(typed)
    nodes = whole(tres.get("node") or cells.get("NNodes") or "1", "nodes", 1)
    cpu_milli = round(number(tres["cpu"], "cpu", 0, 1e6) * 1000) if "cpu" in tres else None
    memory_mib = _memory_mib(tres["mem"]) if "mem" in tres else None
    workers = workers_of(gpus, nodes, cpu_milli, memory_mib, assumed)
    owner = cells.get("User", "")
    return Job(cells["JobID"], submitted_s, duration_s, workers, on_clock=assumed.time_zone != "", owner=owner)


def _tres(text: str) -> dict[str, str]:
    """`cpu=16,gres/gpu=2,mem=64G,node=1`: amounts by name."""
    pairs = [part.partition("=") for part in text.split(",") if part]
    if any(equals == "" for _, equals, _ in pairs):
        raise BadLine(f"resources {text[:60]!r}, expected some like cpu=16,gres/gpu=2,mem=64G,node=1")
    return {name: amount for name, _, amount in pairs}


def _memory_mib(text: str) -> int:
    found = MEMORY.fullmatch(text.rstrip("nc"))
    if found is None:
        raise BadLine(f"mem {text[:40]!r}, expected an amount like 64G")
    return round(number(found[1], "mem") * MIB[found[2]])


FORMAT = Format(
    "sacct",
    f"what Slurm prints for `{COMMAND}`",
    (
        "a job on several nodes becomes one task a node, placed one by one, with the job's GPUs, vCPU and memory "
        "spread evenly",
        "a duration is End - Start; jobs that still run never leave; jobs that never started and steps of jobs are no "
        "tasks; all are batch work",
        "GPU types (gres/gpu:TYPE) are no constraint: the types of Slurm are names of the site",
        "where nothing is said: {vcpu_per_gpu:g} vCPU and {memory_gib_per_gpu:g} GiB per GPU",
        "times have no zone and are taken as UTC unless --time-zone names the cluster's",
    ),
    partial(table_records, required=COLUMNS, delimiter="|"),
    job,
)
