"""`wattpack derive`: a variant of a trace, as a task file, with the distribution it has."""

from __future__ import annotations

from pathlib import Path

from wattpack.answers.csv_output import write_csv
from wattpack.cli.options import check_seed
from wattpack.cli.outputs import check_files, words_beside
from wattpack.datasets import alibaba2023
from wattpack.datasets.derive import Profile, constrained_gpu, multi_gpu, profile, sharing_gpu
from wattpack.datasets.edits import with_edits
from wattpack.datasets.inflation import in_order_of_arrival, seeded
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.errors import UserError
from wattpack.model.tasks import Workload

COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "cpu_spec", "pool_spec")


def derive_command(
    trace: str,
    *,
    multi: float | None = None,
    sharing: float | None = None,
    constrained: float | None = None,
    out: Path | None = None,
    against: str | None = None,
    datacenter: str = alibaba2023.NAME,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    replace: list[str] | None = None,
    power: Path | None = None,
    seed: int = 0,
) -> None:
    """Make a variant of a trace: more multi-GPU, sharing-GPU or constrained-GPU tasks; the options may be combined.

    Parameters
    ----------
    trace
        Built-in name or CSV file of tasks.
    multi
        Percent of the GPU demand that tasks of two or more GPUs shall ask for.
    sharing
        Percent of the GPU demand that tasks with a share of a GPU shall ask for.
    constrained
        Percent of the GPU tasks that shall name GPU models.
    out
        Write the tasks here, as a CSV file that every command takes as a trace. Those of a built-in trace are written
        in random order, because the order of the file is the order of arrival.
    against
        Trace to show beside the variant, for example the published multigpu20.
    datacenter
        Whose GPU models constrained tasks may name: built-in name or CSV file of nodes.
    add
        Nodes to add at the end, like 20xH100-8 or, with the vCPU and GiB of a node, 20xH100-8:128c:1024g; may be given
        again. In a cluster with pools they join that of the nodes like them; 20xH100-8@p3 names one.
    remove
        Nodes to leave out, first: a model like T4, or 10xT4-2; may be given again.
    replace
        Nodes that get other GPUs, as T4=L4 or 10xT4-2=L4, all else the same; may be given again.
    power
        TOML file of your own GPUs, where the datacenter has models that the catalog lacks (`wattpack power`).
    seed
        Of the draws and of that order.
    """
    datacenter = with_edits(datacenter, add, remove, replace)
    check_seed(seed)
    rng = seeded(seed).workload
    start = load_trace(trace)
    if len(start) == 0:
        raise UserError(f"{trace}: no tasks, expected at least one to make a variant of")
    variant = start
    if sharing is not None:
        variant = sharing_gpu(variant, sharing, rng)
    if multi is not None:
        variant = multi_gpu(variant, multi, rng)
    if constrained is not None:
        variant = constrained_gpu(variant, constrained, load_datacenter(datacenter, power=power), rng)
    shown = {trace: start, "variant": variant}
    if against is not None:
        shown[f"{against} "] = load_trace(against)
    check_files({"--out": out}, (trace, against, datacenter, power))
    if out is not None:
        written = in_order_of_arrival(variant, rng)
        rows = ((written.task_name(i), *written.classes[k]) for i, k in enumerate(written.sequence.tolist()))
        write_csv(out, COLUMNS, rows)
    with words_beside(out):
        print_profiles(shown)
        if out is not None:
            print(f"{len(variant)} tasks written to {out}")


def print_profiles(shown: dict[str, Workload]) -> None:
    """The traces side by side: tasks by GPU request, GPU demand by the same, constrained share."""
    from rich.table import Table
    from rich.text import Text

    from wattpack.cli.consoles import wide_console

    profiles: dict[str, Profile] = {name: profile(trace) for name, trace in shown.items()}
    requests = list(dict.fromkeys(key for found in profiles.values() for key in found["population_share"]))
    table = Table(show_edge=False)
    table.add_column("GPU request", no_wrap=True)
    for name in shown:
        table.add_column(Text(f"{Path(name.strip()).name}\ntasks %"), justify="right", no_wrap=True)
        table.add_column("\nGPU %", justify="right", no_wrap=True)
    for request in requests:
        cells = []
        for found in profiles.values():
            cells += [f"{100 * found[share].get(request, 0):.1f}" for share in ("population_share", "gpu_demand_share")]
        table.add_row(request, *cells)
    constrained = [(f"{100 * found['constrained_share']:.1f}", "") for found in profiles.values()]
    table.add_row("constrained", *(cell for pair in constrained for cell in pair))
    table.add_row("tasks in all", *(cell for trace in shown.values() for cell in (str(len(trace)), "")))
    wide_console().print(table)
