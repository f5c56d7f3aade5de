"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, -1 where unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from wattpack.datasets.formats.amounts import number, whole, workers_of
from wattpack.datasets.formats.format import Assumed, BadLine, Format, Job, NotATask
from wattpack.datasets.formats.tables import text_lines
from wattpack.errors import UserError

FIELDS = 18
START = re.compile(r";\s*UnixStartTime:\s*([0-9]{1,12})\b")
# place of a field in a line
JOB, SUBMIT, RUN, PROCESSORS, USED_KB, ASKED_PROCESSORS, ASKED_KB, USER = 0, 1, 3, 4, 6, 7, 9, 11

Fields = tuple[list[str], float]  # of a job, and when the trace starts: seconds since 1970, 0 if unknown


def records(path: Path) -> Iterator[tuple[int, Fields | BadLine]]:
    start_s, any_job = 0.0, False
    for line, text in text_lines(path, "a text file in Standard Workload Format"):
        if text.lstrip().startswith(";"):
            if found := START.match(text.strip()):
                start_s = float(found[1])
            continue
        any_job = True
        fields = text.split()
        if len(fields) != FIELDS:
            yield line, BadLine(f"{len(fields)} fields, expected {FIELDS}")
        else:
            yield line, (fields, start_s)
    if not any_job:
        raise UserError(f"{path}: no jobs, expected lines of {FIELDS} numbers")


def job(found: Fields, assumed: Assumed) -> Job:
    fields, start_s = found
    submit_s = number(fields[SUBMIT], "submit time (field 2)")
    run_s = number(fields[RUN], "run time (field 4)", least=-1)
    if run_s < 0:
        raise NotATask("never ran")
    processors = _first_known(fields, PROCESSORS, ASKED_PROCESSORS, "processors (fields 5, 8)")
    if processors is None or processors == 0:
        raise NotATask("processors unknown")
    gpus = -(-processors // assumed.processors_per_gpu) if assumed.processors_per_gpu else 0
    kilobytes = _first_known(fields, ASKED_KB, USED_KB, "memory (fields 10, 7)", most=10**12)
    memory_mib = None if kilobytes is None else kilobytes * processors // 1024
    workers = workers_of(gpus, 0, processors * 1000, memory_mib, assumed)
    owner = "" if fields[USER].startswith("-") else fields[USER]  # -1: not known
    return Job(fields[JOB], start_s + submit_s, run_s, workers, on_clock=start_s > 0, owner=owner)


def _first_known(fields: list[str], first: int, second: int, what: str, most: int = 10**6) -> int | None:
    for place in (first, second):
        found = number(fields[place], what, least=-1, most=most)
        if found >= 0:
            return whole(fields[place], what, most=most)
    return None


FORMAT = Format(
    "swf",
    "Standard Workload Format, as the Parallel Workloads Archive has it",
    (
        "a processor is a vCPU; the format has no GPUs: --processors-per-gpu N makes a GPU of each N processors "
        "(now {processors_per_gpu}; 0: no GPU)",
        "a job that needs more than a node ({gpus_per_node} GPUs or {gpus_per_node} x {vcpu_per_gpu:g} vCPU) becomes "
        "several tasks, placed one by one",
        "memory is that asked for, else that used, else {memory_gib_per_gpu:g} GiB per GPU or {vcpu_per_gpu:g} vCPU",
        "jobs that never ran are no tasks; all are batch work",
        "times count from UnixStartTime in the header, where there is one",
    ),
    records,
    job,
)
