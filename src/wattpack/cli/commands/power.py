"""`wattpack power`: the watts of every model, the curves, what a power file changes, and a file to start from."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wattpack.cli.consoles import wide_console
from wattpack.cli.options import overlay_option
from wattpack.cli.outputs import check_files
from wattpack.cli.power_table import WIDTH, print_changes, print_cpus, print_gpus
from wattpack.datasets.csv_files import read_rows
from wattpack.datasets.edits import models_of_edits, split_edits, usual_model
from wattpack.datasets.sources import DATACENTERS, load_datacenter
from wattpack.errors import UserError
from wattpack.files import write_text
from wattpack.model.catalog import GPUS
from wattpack.model.nodes import Datacenter
from wattpack.model.power import MEASURED, PAPER, PROFILES, CpuPower, GpuPower, PowerProfile
from wattpack.model.power_changes import Overlay
from wattpack.model.power_template import power_template
from wattpack.report.power_curves import MOST_CURVES, curves_text, figure_kind, write_power_figure

DRAWN = "A100"  # without any other wish: the shapes of the profiles
STEP = 10  # milli-GPU between the points of a drawn curve


def power_command(
    *,
    profile: str | None = None,
    power: Path | None = None,
    gpu: list[str] | None = None,
    figure: Path | None = None,
    template: str | None = None,
    out: Path | None = None,
) -> None:
    """List the watts of every GPU and CPU model, draw the curves, and say what a power file changes.

    Parameters
    ----------
    profile
        Show this power profile only: paper, linear, concave, measured. With --power: lay the file over it.
    power
        TOML file of your own GPUs, CPUs and node base power: show what it changes.
    gpu
        Draw the curves of this model; may be given again, up to 8. Default: the models of the file, or A100.
    figure
        Write the curves to this picture too: .png, .pdf or .svg.
    template
        Print a power file to start from, for the models of this CSV file of nodes or built-in datacenter, which may
        have edits behind it: "alibaba2023 --add 20xH100-8".
    out
        Write the template here instead.
    """
    if profile is not None and profile not in PROFILES:
        raise UserError(f"--profile {profile!r}, expected one of {', '.join(PROFILES)}")
    if template is not None:
        if power is not None or figure is not None or gpu:
            raise UserError("--template with --power, --gpu or --figure, expected --template alone")
        write_template(template, PROFILES[profile or MEASURED.name], out)
        return
    if out is not None:
        raise UserError("--out without --template, expected --template NODES.csv too")
    overlay = None if power is None else overlay_option(profile, power)
    names = gpu or [] if overlay is None or gpu else [c.name for c in overlay.changes if c.table == "gpu"]
    plain = PROFILES[profile or MEASURED.name] if overlay is None else overlay.profile
    names = list(dict.fromkeys(usual_model(name, plain) for name in names)) or [DRAWN]
    curves, title = drawn_curves(names[:MOST_CURVES], profile, overlay)
    if figure is not None:
        figure_kind(figure)
        check_files({"--figure": figure}, (power,))
        write_power_figure(figure, curves, title)
    shown = [PROFILES[profile]] if profile is not None else list(PROFILES.values())
    print_gpus([*shown, *([overlay.profile] if overlay is not None else [])], overlay)
    print()
    print_cpus(overlay.profile if overlay is not None else shown[0], overlay)
    print()
    if power is not None and overlay is not None:
        print_changes(power, overlay)
        print()
    console = wide_console(WIDTH)
    console.print(curves_text(curves, title, console.width, not _is_utf8()))
    if len(names) > MOST_CURVES:
        print(f"drawn are the first {MOST_CURVES} of {len(names)} models; --gpu draws others")
    if figure is not None:
        print(f"figure   {figure}")


def drawn_curves(
    names: list[str], profile: str | None, overlay: Overlay | None
) -> tuple[dict[str, NDArray[np.float64]], str]:
    """One model: its curve in each profile. Several: their curves in one profile."""
    own = overlay.profile if overlay is not None else None
    if len(names) > 1 or profile is not None:
        watts = own or PROFILES[profile or MEASURED.name]
        return {name: _curve(watts, name) for name in dict.fromkeys(names)}, f"W by share in use, profile {watts.name}"
    several = [*([own] if own is not None else []), *PROFILES.values()]
    curves = {one.name: _curve(one, names[0]) for one in several if names[0] in one.known_gpus}
    if not curves:
        _curve(several[0], names[0])  # says what is wrong with the name
    return curves, f"{names[0]}: W by share in use"


def _curve(profile: PowerProfile, name: str) -> NDArray[np.float64]:
    found: NDArray[np.float64] = profile.gpu(name).draw_mw()[::STEP] / 1000
    return found


def write_template(nodes: str, profile: PowerProfile, out: Path | None) -> None:
    """The template for the models of a datacenter, known or not."""
    plain, add, _, replaced = (nodes, [], [], []) if Path(nodes).is_file() else split_edits(nodes)
    gpus, cpus = models_there(plain)
    if plain != nodes:
        every = with_any_watts([*gpus, *models_of_edits(add, replaced)], cpus)
        gpus, cpus = models_in(load_datacenter(nodes, power=every))
    for name in (*gpus, *cpus):
        if len(name) > 200 or not name.isprintable():
            raise UserError(f"{nodes}: {name[:60]!r}, expected names of at most 200 printable characters")
    text = power_template(gpus, cpus, profile)
    if out is None:
        print(text, end="")
        return
    check_files({"--out": out}, (nodes,))
    write_text(out, text)
    print(f"wrote    {out}", file=sys.stderr)


Names = list[str]


def models_in(datacenter: Datacenter) -> tuple[Names, Names]:
    """GPU and CPU models."""
    return [name for name in datacenter.models if name], [name for name in datacenter.cpu_models if name]


def models_there(nodes: str) -> tuple[Names, Names]:
    """GPU and CPU models of a built-in datacenter or a file, whose models may well be unknown."""
    if nodes in DATACENTERS:
        return models_in(load_datacenter(nodes))
    rows = list(read_rows(Path(nodes), ("gpu", "model"), ("cpu_model",)))
    if not rows:
        raise UserError(f"{nodes}: no nodes, expected a CSV file with the columns gpu and model")
    gpus = [row.text("model") for row in rows if row.amount("gpu") > 0 and row.text("model")]
    return gpus, [row.text("cpu_model") for row in rows if row.text("cpu_model")]


def with_any_watts(gpus: Iterable[str], cpus: Iterable[str]) -> PowerProfile:
    """A profile that knows these models and the catalog's too, for a template: its watts say nothing."""
    further = dict.fromkeys([*GPUS, *gpus], GpuPower(0.0, 1.0, 0.0)) | dict(PAPER.further_gpus)
    return replace(PAPER, further_gpus=further, cpus=dict.fromkeys(cpus, CpuPower(1, 0.0, 1.0)) | dict(PAPER.cpus))


def _is_utf8() -> bool:
    return "utf" in (getattr(sys.stdout, "encoding", None) or "ascii").lower()
