"""Job tables of the Helios and Acme traces: one line a job, with the columns that both have."""

from __future__ import annotations

from functools import partial

from wattpack.datasets.formats.amounts import (
    duration_between,
    is_missing,
    number,
    stamp_s,
    whole,
    workers_of,
    zone_of,
)
from wattpack.datasets.formats.format import Assumed, Format, Job, NotATask
from wattpack.datasets.formats.tables import Cells, table_records

COLUMNS = ("job_id", "gpu_num", "cpu_num", "node_num", "submit_time", "start_time", "end_time")
CHINA_HOURS = 8.0  # both clusters are there; there is no summer time
POD_MEMORY = "mem_per_pod_GB"  # of Acme's Kalos

WORKERS = (
    "a job on several nodes becomes one task a node, placed one by one, with the job's GPUs and vCPU spread evenly"
)
RAN = "a duration is end_time - start_time; jobs that never started are no tasks; all are batch work"
MEMORY = "{memory_gib_per_gpu:g} GiB of memory per GPU, and for jobs without GPU per {vcpu_per_gpu:g} vCPU"


def job(cells: Cells, assumed: Assumed) -> Job:
    zone = zone_of(assumed.time_zone, CHINA_HOURS)
    submitted_s = stamp_s(cells["submit_time"], "submit_time", zone)
    if is_missing(cells["start_time"]) or is_missing(cells["end_time"]):
        raise NotATask("never started")
    start_s, end_s = (stamp_s(cells[column], column, zone) for column in ("start_time", "end_time"))
    gpus = whole(cells["gpu_num"], "gpu_num")
    nodes = 0 if is_missing(cells["node_num"]) else whole(cells["node_num"], "node_num")
    nodes = nodes or max(-(-gpus // assumed.gpus_per_node), 1)
    cpu_milli = None
    if not is_missing(cells["cpu_num"]):
        cpu_milli = round(number(cells["cpu_num"], "cpu_num", 0, 1e6) * 1000)
    memory_mib = None
    if not is_missing(cells.get(POD_MEMORY)):
        memory_mib = round(number(cells[POD_MEMORY], POD_MEMORY, 0, 1e6) * 1e9 / 2**20) * nodes
    workers = workers_of(gpus, nodes, cpu_milli, memory_mib, assumed)
    return Job(
        cells["job_id"], submitted_s, duration_between(start_s, end_s), workers, True, owner=cells.get("user", "")
    )


HELIOS = Format(
    "helios",
    "cluster_log.csv of a cluster of the Helios traces of 2020",
    (
        WORKERS,
        RAN,
        f"memory is not published: {MEMORY}",
        "GPU models are not published: no constraint",
        "times are those of China (UTC+8) unless --time-zone says otherwise",
    ),
    partial(table_records, required=COLUMNS),
    job,
)

ACME = Format(
    "acme",
    "trace_seren.csv or trace_kalos.csv of the Acme traces of 2023",
    (
        WORKERS,
        RAN,
        f"memory is mem_per_pod_GB (Kalos) for each node of the job, else {MEMORY}",
        "both clusters have one GPU model: no constraint",
        "times have their zone in the file",
    ),
    partial(table_records, required=COLUMNS),
    job,
)
