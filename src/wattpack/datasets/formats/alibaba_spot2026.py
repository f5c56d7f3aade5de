"""Jobs of the Alibaba spot-GPU trace of 2026 (`job_info_df.csv` of cluster-trace-v2026-spot-gpu)."""

from __future__ import annotations

from functools import partial

from wattpack.datasets.alibaba2026 import TAKEN_FOR
from wattpack.datasets.formats.amounts import gpu_amounts, number, whole
from wattpack.datasets.formats.format import Assumed, BadLine, Format, Job
from wattpack.datasets.formats.tables import Cells, table_records
from wattpack.model.tasks import TaskClass

COLUMNS = ("job_name", "gpu_model", "cpu_request", "gpu_request", "worker_num", "submit_time", "duration", "job_type")
SPOT = "Spot"
MEMORY_MIB_PER_VCPU = 4096  # half of what the nodes of alibaba2026 are taken to have: memory is never what is missing
MAX_WORKERS = 100_000


def job(cells: Cells, assumed: Assumed) -> Job:
    num_gpu, gpu_milli = gpu_amounts(cells["gpu_request"], "gpu_request")
    cpu_milli = round(number(cells["cpu_request"], "cpu_request", 0, 1e6) * 1000)
    model = cells["gpu_model"]
    if "|" in model:
        raise BadLine(f"gpu_model {model!r}, expected one model")
    spec = TAKEN_FOR.get(model, model) if num_gpu else ""
    task = TaskClass(cpu_milli, cpu_milli * MEMORY_MIB_PER_VCPU // 1000, num_gpu, gpu_milli, spec)
    return Job(
        cells["job_name"],
        number(cells["submit_time"], "submit_time"),
        number(cells["duration"], "duration"),
        ((task, whole(cells["worker_num"], "worker_num", 1, MAX_WORKERS)),),
        batch=cells["job_type"] == SPOT,
        service_class=cells["job_type"],
        owner=cells.get("organization", ""),
    )


FORMAT = Format(
    "alibaba-spot2026",
    "job_info_df.csv of the Alibaba spot-GPU trace of 2026",
    (
        "the workers of a job (worker_num) are single tasks, placed one by one; GPUs and vCPU are those of a worker",
        "gpu_model is a constraint; GPU-series-1 is taken for L20 and GPU-series-2 for H20, as in alibaba2026",
        "memory is not published: 4 GiB per vCPU",
        "Spot jobs are batch work, HP jobs services",
    ),
    partial(table_records, required=COLUMNS),
    job,
)
