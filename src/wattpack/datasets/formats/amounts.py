"""Amounts and times of cells, and the workers of a job; a bad one is a `BadLine`."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from wattpack.datasets.csv_files import MAX_AMOUNT, MAX_TASK_GPUS
from wattpack.datasets.formats.format import Assumed, BadLine
from wattpack.errors import UserError
from wattpack.model.power import GPU_MILLI
from wattpack.model.tasks import TaskClass

MAX_WORKERS = 100_000  # of one job
NO_VALUE = ("", "nan", "none", "null", "unknown", "n/a", "nat")  # in lower case


def is_missing(text: object) -> bool:
    return text is None or str(text).strip().lower() in NO_VALUE


def number(text: object, what: str, least: float = 0.0, most: float = float(MAX_AMOUNT)) -> float:
    try:
        found = float(str(text)) if str(text).isascii() and "_" not in str(text) else math.nan
    except ValueError:
        found = math.nan
    if not least <= found <= most:
        raise BadLine(f"{what} {_short(text)}, expected a number from {least:g} to {most:g}")
    return found


def whole(text: object, what: str, least: int = 0, most: int = MAX_TASK_GPUS) -> int:
    found = number(text, what, least, most)
    if found != int(found):
        raise BadLine(f"{what} {_short(text)}, expected a whole number from {least} to {most}")
    return int(found)


def stamp_s(text: object, what: str, zone: tzinfo) -> float:
    """Seconds since 1970 of an ISO time; `zone` is that of a time without one."""
    try:
        found = datetime.fromisoformat(str(text).strip())
        return (found if found.tzinfo else found.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        raise BadLine(f"{what} {_short(text)}, expected a time like 2026-03-01 08:30:00") from None


def duration_between(start_s: float, end_s: float) -> float:
    if end_s < start_s:
        raise BadLine(f"it ends {start_s - end_s:,.0f} s before it starts, expected an end after the start")
    return end_s - start_s


@lru_cache
def zone_of(assumed_name: str, default_hours: float = 0.0) -> tzinfo:
    """The time zone of this name; without a name, so many hours east of Greenwich."""
    if assumed_name == "":
        return timezone(timedelta(hours=default_hours)) if default_hours else UTC
    try:
        return ZoneInfo(assumed_name)
    except (OSError, ValueError, KeyError):  # what zoneinfo raises for odd names
        raise UserError(f"time zone {assumed_name!r}: unknown, expected a name like Europe/Berlin or UTC") from None


def gpu_amounts(gpus: object, what: str) -> tuple[int, int]:
    """`num_gpu` and `gpu_milli` of a number of GPUs: whole, or a share of one."""
    found = number(gpus, what, 0, MAX_TASK_GPUS)
    if found == int(found):
        return int(found), GPU_MILLI if found else 0
    if found > 1:
        raise BadLine(f"{what} {_short(gpus)}, expected whole GPUs or a share of one")
    return 1, min(max(round(found * GPU_MILLI), 1), GPU_MILLI)


@lru_cache(maxsize=10_000)  # jobs are many, what they ask for is little: half the time and memory of a large table
def workers_of(
    gpus: int, nodes: int, cpu_milli: int | None, memory_mib: int | None, assumed: Assumed
) -> tuple[tuple[TaskClass, int], ...]:
    """A job as one task for each of its `nodes`, with its GPUs, vCPU and memory spread evenly.

    `nodes` 0: as many as its GPUs or vCPU need. vCPU and memory that are not known are those of so many GPUs.
    """
    per_node_milli = round(assumed.gpus_per_node * assumed.vcpu_per_gpu * 1000)
    if cpu_milli is None:
        cpu_milli = round(gpus * assumed.vcpu_per_gpu * 1000)
    if memory_mib is None:
        counted = gpus if gpus else cpu_milli / 1000 / assumed.vcpu_per_gpu
        memory_mib = round(counted * assumed.memory_gib_per_gpu * 1024)
    if nodes == 0:
        nodes = -(-gpus // assumed.gpus_per_node) if gpus else -(-cpu_milli // per_node_milli)
        nodes = max(nodes, 1)
    if nodes > MAX_WORKERS:
        raise BadLine(f"{nodes:,} workers, expected at most {MAX_WORKERS:,}")
    fewer, more = divmod(gpus, nodes)
    cpu, memory = cpu_milli // nodes, memory_mib // nodes
    found = [(fewer + 1, more), (fewer, nodes - more)]
    return tuple((TaskClass(cpu, memory, each, GPU_MILLI if each else 0), count) for each, count in found if count > 0)


def _short(text: object) -> str:
    shown = str(text)
    return repr(shown if len(shown) <= 40 else f"{shown[:37]}...")
