"""`wattpack datacenters`: lists, describes and exports datacenters, with small edits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from wattpack.answers.csv_output import write_csv
from wattpack.cli.options import check_seed, note_power, profile_option
from wattpack.cli.outputs import check_files, words_beside
from wattpack.datasets.edits import split_edits
from wattpack.datasets.inflation import FIRST_SEED, node_order, seeded
from wattpack.datasets.node_types import file_header, file_rows, types_of
from wattpack.datasets.sources import BUILT_IN, load_datacenter
from wattpack.errors import UserError
from wattpack.model.counted import counted
from wattpack.model.node_watts import idle_and_full_w
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PROFILES, PowerProfile


def datacenters_command(
    name: str | None = None,
    *,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    replace: list[str] | None = None,
    profile: str | None = None,
    power: Path | None = None,
    out: Path | None = None,
    seed: int = FIRST_SEED,
) -> None:
    """List the built-in datacenters, or describe one of them or your own: node types, watts, sources, assumptions.

    Parameters
    ----------
    name
        Built-in name or CSV file of nodes; without it all built-in ones are listed.
    add
        Nodes to add at the end, like 20xH100-8 or, with the vCPU and GiB of a node, 20xH100-8:128c:1024g; may be given
        again. In a cluster with pools they join that of the nodes like them; 20xH100-8@p3 names one.
    remove
        Nodes to leave out, first: a model like T4, or 10xT4-2; may be given again.
    replace
        Nodes that get other GPUs, as T4=L4 or 10xT4-2=L4, all else the same; may be given again.
    profile
        Show the watts of this power profile only: paper, linear, concave, measured.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profile: show its watts only.
    out
        Write the nodes here, as a CSV file that every command takes; `-` is standard output. Nodes of a built-in
        datacenter are written in random order, because ties go to the first node; those of a file keep their order.
    seed
        Of that order: the one that `compare` has for this seed.
    """
    profiles = list(PROFILES.values()) if profile is None and power is None else [profile_option(profile, power)]
    if name is None:
        if add or remove or replace or out is not None:
            raise UserError("datacenters: expected the name or the file of a datacenter to edit or write")
        print_list()
        return
    datacenter = load_datacenter(name, power=profiles[0], add=add or (), remove=remove or (), replace=replace or ())
    built_in = split_edits(name)[0] in BUILT_IN
    check_seed(seed)
    check_files({"--out": out}, (name, power))
    note_power(profile, power)
    if out is not None:
        order = node_order(datacenter, seeded(seed).node_order) if built_in else np.arange(len(datacenter))
        written = datacenter.ordered(order)
        write_csv(out, file_header(written), file_rows(written))
    with words_beside(out):
        print_types(datacenter, profiles)
        print_about(name)
        if out is not None:
            said = f", in the random order of seed {seed}" if built_in else ""
            print(f"{counted(len(datacenter), 'node', ',')} written to {out}{said}")


def print_list() -> None:
    rows: list[tuple[str, ...]] = [("name", "nodes", "GPUs", "vCPU", "")]
    for name, module in BUILT_IN.items():
        nodes = module.datacenter()
        totals = (len(nodes), int(nodes.gpus.sum()), int(nodes.cpu_milli.sum()) // 1000)
        rows.append((name, *(f"{total:,}" for total in totals), module.ABOUT.summary))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for name, *numbers, summary in rows:
        cells = "  ".join(f"{cell:>{width}}" for cell, width in zip(numbers, widths[1:], strict=True))
        print(f"{name:<{widths[0]}}  {cells}  {summary}".rstrip())


def print_types(datacenter: Datacenter, profiles: list[PowerProfile]) -> None:
    """Node types in node order, and the sum. Profiles with the same watts share their columns."""
    from rich.table import Table
    from rich.text import Text

    from wattpack.cli.consoles import wide_console

    watts = watts_by_profile(datacenter, profiles)
    print(datacenter)
    table = Table(show_edge=False)
    for column in ("nodes", "GPUs"):
        table.add_column(column, justify="right", overflow="fold")
    table.add_column("model", overflow="fold")
    for column in ("vCPU", "GiB"):
        table.add_column(column, justify="right", overflow="fold")
    for names in watts:
        table.add_column(Text(f"idle W\n{names}"), justify="right", overflow="fold")
        table.add_column("full W\n", justify="right", overflow="fold")
    for kind in types_of(datacenter):
        cells = [f"{kind.cpu_milli / 1000:g}", f"{kind.memory_mib / 1024:,.4g}"]
        cells += [f"{column[kind.first]:,.0f}" for pair in watts.values() for column in pair]
        table.add_row(f"{kind.nodes:,}", str(kind.gpus), Text(kind.model or "-"), *cells)
    sums = [f"{datacenter.cpu_milli.sum() / 1000:,.0f}", f"{datacenter.memory_mib.sum() / 1024:,.0f}"]
    sums += [f"{column.sum() / 1000:,.1f} kW" for pair in watts.values() for column in pair]
    table.add_section()
    table.add_row(f"{len(datacenter):,}", f"{datacenter.gpus.sum():,}", "all", *sums)
    wide_console().print(table)


def watts_by_profile(datacenter: Datacenter, profiles: list[PowerProfile]) -> dict[str, tuple[np.ndarray, ...]]:
    """Idle and full watts of each node by the names of the profiles that agree on them."""
    found: dict[bytes, tuple[list[str], tuple[np.ndarray, ...]]] = {}
    for profile in profiles:
        pair = idle_and_full_w(datacenter, profile)
        found.setdefault(b"".join(column.tobytes() for column in pair), ([], pair))[0].append(profile.name)
    return {", ".join(names): pair for names, pair in found.values()}


def print_about(name: str) -> None:
    """Source and assumptions of a built-in datacenter."""
    print("GPUs, vCPU, GiB and watts of one node, the last row of all; full: every GPU and core in use")
    module = BUILT_IN.get(split_edits(name)[0])
    if module is None:
        return
    print(f"source: {module.ABOUT.source}")
    for text in module.ABOUT.assumptions:
        print(f"assumed: {text}")
