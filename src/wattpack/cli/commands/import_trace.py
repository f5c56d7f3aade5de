"""`wattpack import-trace`: a trace in a public format as a task file with times."""

from __future__ import annotations

from pathlib import Path

from wattpack.answers.csv_output import write_timed_tasks
from wattpack.answers.import_trace import FORMATS, format_of, lines_of
from wattpack.cli.outputs import check_files, words_beside
from wattpack.datasets.formats.format import Assumed
from wattpack.datasets.formats.imported import import_trace
from wattpack.errors import UserError


def import_trace_command(
    format: str | None = None,
    file: Path | None = None,
    *,
    out: Path | None = None,
    vcpu_per_gpu: float = Assumed.vcpu_per_gpu,
    memory_gib_per_gpu: float = Assumed.memory_gib_per_gpu,
    gpus_per_node: int = Assumed.gpus_per_node,
    processors_per_gpu: int = Assumed.processors_per_gpu,
    time_zone: str = Assumed.time_zone,
    nodes: list[Path] | None = None,
    gpu_only: bool = False,
    strict: bool = False,
) -> None:
    """Write a trace in a public format as a CSV file of tasks with times, which every command takes.

    Bad lines are refused one by one, counted, and the first ones named. What a format does not say is assumed, and
    printed. Without a format and a file, the formats are listed with what each of them assumes.

    Parameters
    ----------
    format
        alibaba2025, alibaba-spot2026, philly, helios, acme, swf, sacct or kubernetes; `wattpack import-trace` alone
        says what each of them assumes.
    file
        The file to read.
    out
        Write the tasks here; `-` is standard output. Without it the file is read and described.
    vcpu_per_gpu
        vCPU of a task for each of its GPUs, where the format has none.
    memory_gib_per_gpu
        Memory of a task for each of its GPUs, where the format has none.
    gpus_per_node
        Jobs that ask for more GPUs become several tasks, where the format has no number of nodes (swf).
    processors_per_gpu
        How many processors of a job stand for one GPU (swf); 0: jobs use no GPU.
    time_zone
        Of times without one, like Europe/Berlin (philly, helios, acme, sacct).
    nodes
        Files with the nodes of the cluster (kubernetes), where the file itself has only pods: `kubectl get nodes -o
        json`, or nodes.json of `wattpack import`; may be given again. Give the same files to `wattpack import`: its
        pools are then those of the tasks.
    gpu_only
        Leave out tasks without GPU.
    strict
        Any refused line is an error: exit code 2, and nothing is written.
    """
    if format is None:
        print_formats()
        return
    if format not in FORMATS:
        raise UserError(f"unknown format {format!r}, expected one of {', '.join(FORMATS)}")
    if file is None:
        raise UserError(f"import-trace {format}: no file, expected {FORMATS[format].summary}")
    kind = format_of(format, nodes or [], "--nodes")
    check_files({"--out": out}, (file, *(nodes or [])))
    assumed = Assumed(vcpu_per_gpu, memory_gib_per_gpu, gpus_per_node, processors_per_gpu, time_zone)
    imported = import_trace(kind, file, assumed, strict, gpu_only)
    if out is not None:
        write_timed_tasks(out, imported.tasks)
    with words_beside(out):
        for line in lines_of(imported, kind, assumed):
            print(line)
        if out is not None:
            print(f"wrote     {out}")


def print_formats() -> None:
    for found in FORMATS.values():
        print(f"{found.name}: {found.summary}")
        for text in found.assumed_in_words(Assumed()):
            print(f"  assumed: {text}")
