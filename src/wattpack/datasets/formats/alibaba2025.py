"""Instances of the Alibaba trace of 2025 (`disaggregated_DLRM_trace.csv` of cluster-trace-gpu-v2025): a real month."""

from __future__ import annotations

import math
from functools import partial

from wattpack.datasets.formats.amounts import duration_between, gpu_amounts, is_missing, number
from wattpack.datasets.formats.format import Assumed, Format, Job
from wattpack.datasets.formats.tables import Cells, table_records
from wattpack.model.tasks import TaskClass

COLUMNS = (
    *("instance_sn", "cpu_request", "gpu_request", "memory_request"),
    *("creation_time", "scheduled_time", "deletion_time"),
)


def job(cells: Cells, assumed: Assumed) -> Job:
    num_gpu, gpu_milli = gpu_amounts(cells["gpu_request"], "gpu_request")
    cpu_milli = round(number(cells["cpu_request"], "cpu_request", 0, 1e6) * 1000)
    memory_mib = round(number(cells["memory_request"], "memory_request", 0, 1e8) * 1024)
    created_s = 0.0 if is_missing(cells["creation_time"]) else number(cells["creation_time"], "creation_time")
    started_s = created_s
    if not is_missing(cells["scheduled_time"]):
        started_s = number(cells["scheduled_time"], "scheduled_time")
    duration_s = math.inf
    if not is_missing(cells["deletion_time"]):
        duration_s = duration_between(started_s, number(cells["deletion_time"], "deletion_time"))
    task = TaskClass(cpu_milli, memory_mib, num_gpu, gpu_milli)
    return Job(cells["instance_sn"], created_s, duration_s, ((task, 1),), batch=False, service_class="LS")


FORMAT = Format(
    "alibaba2025",
    "disaggregated_DLRM_trace.csv of the Alibaba trace of 2025: 156 inference services over a month",
    (
        "instances that were there before the start arrive at time 0, before all others, in the order of the file",
        "a duration is deletion_time - scheduled_time, or counts from time 0 for instances that were there before; "
        "instances without deletion_time never leave",
        "GPU models are not published: no constraint; each instance of a GPU node asks for one whole GPU",
        "the instances of CPU nodes are tasks without GPU and compete for the same nodes",
        "bandwidth, disk and max_instance_per_node are not modelled",
        "all instances are services of class LS",
    ),
    partial(table_records, required=COLUMNS),
    job,
)
