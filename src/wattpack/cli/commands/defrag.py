"""`wattpack defrag`: which tasks of a placement to move, best first, and what that brings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from wattpack.answers.csv_output import write_csv
from wattpack.cli.keep_speed import keep_speed
from wattpack.cli.not_understood import nodes_with_others, with_closed_nodes
from wattpack.cli.options import note_power, profile_option
from wattpack.cli.outputs import check_files, words_beside
from wattpack.cli.side_by_side import print_emptied, print_side_by_side
from wattpack.cli.streams import note, notes_after
from wattpack.datasets.csv_files import read_workload
from wattpack.datasets.placements import COLUMNS as DECISIONS
from wattpack.datasets.placements import read_placements
from wattpack.datasets.sources import load_datacenter, load_trace
from wattpack.engine.runs.record import gpu_index_text
from wattpack.errors import UserError
from wattpack.experiments.bound.curves import bound_is_quick
from wattpack.experiments.placed import emptied_nodes, engine_with
from wattpack.jit import say_if_compiling
from wattpack.model.fit_anywhere import fit_nowhere
from wattpack.model.nodes import Datacenter
from wattpack.model.power import nodes_power_mw
from wattpack.model.records import NodeRecord, RecordTable
from wattpack.model.target import Target
from wattpack.model.tasks import Workload
from wattpack.optimise.bound.lp import ConfigurationLp
from wattpack.optimise.defrag.search import LEAST_W, WORTH_W, Defrag, Move
from wattpack.report.provenance import never_fit

HEADER = (
    *("move", "chain", "task", "from_node", "from_gpu_index", "to_node", "to_gpu_index", "saved_w", "usable_gpus"),
    *("free_gpus", "saved_w_so_far", "usable_gpus_so_far", "free_gpus_so_far"),
)
MOST_SHOWN = 40


def defrag_command(
    *,
    nodes: Path,
    tasks: Path,
    placements: Path,
    target: str | None = None,
    moves: int = 100,
    gpu_worth: float = WORTH_W,
    least: float = LEAST_W,
    allow_slower: bool = False,
    same_model: bool = False,
    profile: str | None = None,
    power: Path | None = None,
    add: list[str] | None = None,
    remove: list[str] | None = None,
    replace: list[str] | None = None,
    out: Path | None = None,
    placements_out: Path | None = None,
) -> None:
    """List the moves of placed tasks that bring most, in an order in which each one has room when its turn comes.

    A task keeps its old place until it has its new one, as a live migration does. Moves that only pay together (the
    tasks of one GPU, of a node, those in the way of a large task) are a chain and are listed whole. No task moves to a
    slower GPU unless --allow-slower is given.

    Parameters
    ----------
    nodes
        CSV file: sn,cpu_milli,memory_mib,gpu,model. A built-in name works too.
    tasks
        CSV file: name,cpu_milli,memory_mib,num_gpu,gpu_milli[,gpu_spec].
    placements
        CSV file of where the tasks are: task,node,gpu_index, as `wattpack import` and `replay --decisions` write it.
    target
        Trace (file or built-in name) of the tasks to expect; default: the tasks file itself.
    moves
        Moves to list, at most.
    gpu_worth
        Watts that a free GPU is worth which the target workload can use and could not before; 0: only watts count.
    least
        Watts (with priced GPUs) that a chain must save per move to be listed.
    allow_slower
        Let running tasks go to any GPU; otherwise only to GPUs that are no slower and have as much memory.
    same_model
        Let running tasks go only to GPUs of the model they run on.
    profile
        Power profile: paper (the default), linear, concave, measured.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profile (`wattpack power`).
    add
        Nodes to add at the end, like 20xH100-8 or, with the vCPU and GiB of a node, 20xH100-8:128c:1024g; may be given
        again. In a cluster with pools they join that of the nodes like them; 20xH100-8@p3 names one.
    remove
        Nodes to leave out, first: a model like T4, or 10xT4-2; may be given again.
    replace
        Nodes that get other GPUs, as T4=L4 or 10xT4-2=L4, all else the same; may be given again.
    out
        Write the moves here, as CSV.
    placements_out
        Write where the tasks are afterwards here, in the format of --placements.
    """
    watts = profile_option(profile, power)
    if moves < 1:
        raise UserError(f"--moves {moves}, expected 1 or more")
    if not 0 <= gpu_worth < 1e6:
        raise UserError(f"--gpu-worth {gpu_worth:g}, expected watts from 0 to a million")
    if not 0 < least < 1e6:
        raise UserError(f"--least {least:g}, expected watts above 0: a move that brings nothing is never worth it")
    datacenter = load_datacenter(str(nodes), power=watts, add=add or (), remove=remove or (), replace=replace or ())
    workload = read_workload(tasks)
    aim = Target.of(workload if target is None else load_trace(target))
    placed = read_placements(placements, datacenter, workload)
    with notes_after():
        datacenter = with_closed_nodes(datacenter, nodes, tasks, placements)
        workload = keep_speed(workload, placed, datacenter, allow_slower, same_model)
        check_files({"--out": out, "--placements-out": placements_out}, (nodes, tasks, placements, target, power))
        note_power(profile, power)
        if kinds := fit_nowhere(datacenter, workload, watts):
            note(never_fit(kinds))
        say_if_compiling("wattpack.optimise.defrag.steps")
        engine = engine_with(placed, datacenter, workload, aim, watts)
    before = totals(engine.state.nodes)
    search = Defrag(engine.state, workload.sequence, placed.node, placed.gpus, gpu_worth)
    found = search.moves(moves, least)
    bound_w = before[0]
    if len(workload) > 0 and bound_is_quick(workload):
        counts = np.bincount(workload.sequence[placed.node >= 0], minlength=len(workload.classes))
        # Tasks may be on nodes that take no new ones: a bound for all placements, those included, knows no pools.
        anywhere = [task._replace(pool_spec="") for task in workload.classes]
        bound_w = ConfigurationLp(datacenter.without_pools(), anywhere, watts).solve(counts).power_w
    if out is not None:
        write_csv(out, HEADER, move_rows(found, datacenter, workload))
    if placements_out is not None:
        now = search.board
        names = ("" if n < 0 else datacenter.names[n] for n in now.node.tolist())
        texts = (gpu_index_text(bits) for bits in now.gpus.tolist())
        write_csv(placements_out, DECISIONS, zip(workload.task_names or (), names, texts, strict=True))
    with words_beside(out, placements_out):
        print_moves(found, datacenter, workload)
        print_totals(before, totals(search.board.nodes), bound_w, found)
        others = nodes_with_others(nodes, tasks, placements)
        print_emptied(emptied_nodes(placed.node, search.board.node, datacenter, watts, others))


Totals = tuple[float, float, int, int]  # watts, fragmentation in GPUs, wholly free GPUs, nodes in use


def totals(nodes: RecordTable[NodeRecord]) -> Totals:
    power_w = int(nodes_power_mw(nodes).sum()) / 1000
    fragmentation = float(nodes.fragmentation.sum()) / 1000
    return power_w, fragmentation, int(nodes.gpu_free.sum()), int((nodes.tasks > 0).sum())


def move_rows(found: Sequence[Move], datacenter: Datacenter, workload: Workload) -> Iterable[Sequence[object]]:
    saved_w = usable = 0.0
    free = 0
    for number, move in enumerate(found, 1):
        saved_w, usable, free = saved_w + move.saved_w, usable + move.usable_gpus, free + move.free_gpus
        yield (
            *(number, move.chain + 1, workload.task_name(move.task)),
            *(datacenter.names[move.from_node], gpu_index_text(move.from_gpus)),
            *(datacenter.names[move.to_node], gpu_index_text(move.to_gpus)),
            *(f"{move.saved_w:.3f}", f"{move.usable_gpus:.4f}", move.free_gpus),
            *(f"{saved_w:.3f}", f"{usable:.4f}", free),
        )


def print_moves(found: Sequence[Move], datacenter: Datacenter, workload: Workload) -> None:
    """The first moves as a table, a line between chains of several."""
    from rich.table import Table
    from rich.text import Text

    from wattpack.cli.consoles import wide_console

    if not found:
        return
    console = wide_console()
    table = Table(show_edge=False)
    for column in ("move", "chain", "task", "from", "to"):
        table.add_column(column, justify="right" if column in ("move", "chain") else "left")
    for column in ("W saved", "usable GPUs", "free GPUs", "W so far"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in list(move_rows(found, datacenter, workload))[:MOST_SHOWN]:
        number, chain, task, source, old, to, new, saved_w, usable, free, so_far, *_ = row
        places = [f"{name} / {gpus}" if gpus else str(name) for name, gpus in ((source, old), (to, new))]
        numbers = (f"{float(str(saved_w)):+,.1f}", f"{float(str(usable)):+.3f}", f"{free:+d}")
        texts = (Text(str(text)) for text in (task, *places))
        table.add_row(str(number), str(chain), *texts, *numbers, f"{float(str(so_far)):,.0f}")
    console.print(table)
    if len(found) > MOST_SHOWN:
        print(f"... {len(found) - MOST_SHOWN} more moves (--out FILE.csv has all)")


def print_totals(before: Totals, after: Totals, bound_w: float, found: Sequence[Move]) -> None:
    """Before and after, side by side, and the largest saving that any placement could reach."""
    rows = [
        ("", "before", "after"),
        ("power, W", f"{before[0]:,.0f}", f"{after[0]:,.0f}"),
        ("fragmentation, GPUs", f"{before[1]:,.1f}", f"{after[1]:,.1f}"),
        ("wholly free GPUs", f"{before[2]:,}", f"{after[2]:,}"),
        ("nodes in use", f"{before[3]:,}", f"{after[3]:,}"),
    ]
    print_side_by_side(rows)
    saved, most = before[0] - after[0], before[0] - bound_w
    if not found:
        print("no move is worth its trouble")
        return
    percent = 100 * saved / before[0] if before[0] else 0.0
    moves = "1 move saves" if len(found) == 1 else f"{len(found)} moves save"
    print(f"{moves} {saved:,.0f} W, {percent:.1f} % of the power, {saved / len(found):,.0f} W a move")
    if most > 0:
        print(f"  no placement of these tasks could save more than {most:,.0f} W (`wattpack bound`)")
