"""Jobs of Microsoft's Philly trace of 2017 (`cluster_job_log`, JSON)."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path
from typing import Any

from wattpack.datasets.csv_files import MAX_BYTES
from wattpack.datasets.formats.amounts import duration_between, is_missing, stamp_s, workers_of, zone_of
from wattpack.datasets.formats.format import Assumed, BadLine, Format, Job, NotATask
from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.errors import UserError
from wattpack.model.tasks import TaskClass

EXPECTED = "expected a JSON list of jobs with jobid, submitted_time and attempts"


def records(path: Path) -> Iterator[tuple[int, Any]]:
    data = read_bytes_up_to(path, MAX_BYTES, "a JSON file")
    try:
        jobs = json.loads(data)
    except json.JSONDecodeError as fault:
        raise UserError(f"{path}, line {fault.lineno}: {fault.msg}, {EXPECTED}") from None
    except (ValueError, RecursionError):  # not UTF-8; numbers of 5,000 digits; nested too deep
        raise UserError(f"{path}: not JSON text, {EXPECTED}") from None
    if not isinstance(jobs, list):
        raise UserError(f"{path}: no list, {EXPECTED}")
    yield from enumerate(jobs, 1)


def job(found: Any, assumed: Assumed) -> Job:
    if not isinstance(found, dict) or not isinstance(found.get("attempts"), list):
        raise BadLine("no job with attempts, expected an object with jobid, submitted_time and attempts")
    zone = zone_of(assumed.time_zone)
    submitted_s = stamp_s(found.get("submitted_time"), "submitted_time", zone)
    last: list[int] = []
    ran_s = 0.0
    for attempt in found["attempts"]:
        gpus = _gpus_by_server(attempt)
        if not gpus or is_missing(attempt.get("start_time")):
            continue  # a logging error, say the publishers
        last = gpus
        ran_s += _ran_s(attempt, attempt is found["attempts"][-1], zone)
    if not last:
        raise NotATask("no attempt with GPUs and a start")
    # one task a server, each with the GPUs that it had there
    workers: Counter[TaskClass] = Counter()
    for gpus_there in last:
        workers.update(dict(workers_of(gpus_there, 1, None, None, assumed)))
    name, owner = (str(found.get(key, "")) for key in ("jobid", "user"))
    return Job(name, submitted_s, ran_s, tuple(workers.items()), assumed.time_zone != "", owner=owner)


def _ran_s(attempt: dict[str, Any], is_last: bool, zone: tzinfo) -> float:
    if is_missing(attempt.get("end_time")):
        return math.inf if is_last else 0.0  # still running at the end of the trace; else a logging error
    start_s = stamp_s(attempt["start_time"], "start_time", zone)
    return duration_between(start_s, stamp_s(attempt["end_time"], "end_time", zone))


def _gpus_by_server(attempt: Any) -> list[int]:
    detail = attempt.get("detail") if isinstance(attempt, dict) else None
    if not isinstance(detail, list):
        raise BadLine("an attempt without detail, expected a list of servers with gpus")
    found = [server.get("gpus") if isinstance(server, dict) else None for server in detail]
    gpus = [len(there) for there in found if isinstance(there, list)]
    if len(gpus) != len(detail):
        raise BadLine("a server without gpus, expected a list of GPUs")
    return [there for there in gpus if there]


FORMAT = Format(
    "philly",
    "cluster_job_log of Microsoft's Philly trace of 2017 (JSON)",
    (
        "a job is as many tasks as servers in its last attempt, each with its GPUs there, placed one by one",
        "the duration is the time of all its attempts together; a job whose last attempt has no end never leaves; "
        "attempts without a start or GPUs are passed over",
        "vCPU and memory are not published by job: {vcpu_per_gpu:g} vCPU and {memory_gib_per_gpu:g} GiB per GPU",
        "GPU models are not published: no constraint; all are batch work",
        "times have no zone in the file and are taken as UTC unless --time-zone says otherwise",
    ),
    records,
    job,
    counted="job",
)
