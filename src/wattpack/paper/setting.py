"""The paper's statements on the setting (tables I and II) and on the power of the datacenter under FGD."""

from __future__ import annotations

from wattpack.experiments.lineup import BASELINE
from wattpack.paper.rules import (
    FULL,
    LEAST_LOAD,
    LOAD_TOLERANCE,
    Reading,
    Rule,
    View,
    about,
    at_most,
    least,
    load_text,
    most,
    needed,
    numbers,
    part,
)
from wattpack.paper.tables import (
    GPU_MODELS,
    GPU_REQUESTS,
    gpu_power_w,
    gpus_by_model,
    size_of_datacenter,
    task_shares_percent,
)

TRACE = "default"
POPULATION_PERCENT = (13.3, 37.8, 48.0, 0.2, 0.2, 0.5)
GPU_REQUESTS_PERCENT = (0.0, 28.5, 64.2, 0.5, 1.0, 5.8)
GPUS = (195, 204, 265, 842, 2, 4392, 312)
IDLE_AND_MAX_W = ((30, 300), (30, 300), (25, 250), (10, 70), (30, 150), (30, 150), (50, 400))
NODES, VCPUS, ALL_GPUS = 1213, 107_018, 6212


def table_1(view: View) -> Reading:
    population, requests = task_shares_percent()
    parts = []
    rows = (("task share", population, POPULATION_PERCENT), ("GPU share", requests, GPU_REQUESTS_PERCENT))
    for what, ours, paper in rows:
        for request, value, wanted in zip(GPU_REQUESTS, ours, paper, strict=True):
            # One unit of the last digit is allowed: the paper's shares of a row add up to 100.0, rounded ones need not.
            parts.append(about(value, wanted, 0.1, 0.1, f"{what} of request {request}"))
    return Reading(f"tasks {numbers(population, 2)} %; GPU requests {numbers(requests, 2)} %", parts)


def table_2(view: View) -> Reading:
    counts = gpus_by_model()
    nodes, vcpus, gpus = size_of_datacenter()
    parts = []
    for model, wanted, power in zip(GPU_MODELS, GPUS, IDLE_AND_MAX_W, strict=True):
        count, (idle_w, max_w) = counts.get(model), gpu_power_w(model)
        parts.append(part(count == wanted, False, f"{model}: {count} GPUs, {wanted} in the paper"))
        parts.append(
            part((idle_w, max_w) == power, False, f"{model}: {idle_w:g} and {max_w:g} W, {power} in the paper")
        )
    for what, value, wanted in (("nodes", nodes, NODES), ("vCPU", vcpus, VCPUS), ("GPUs", gpus, ALL_GPUS)):
        parts.append(part(value == wanted, False, f"{value:,} {what}, {wanted:,} in the paper"))
    listed = ", ".join(f"{model} {count:,}" for model, count in counts.items())
    return Reading(f"{listed}; {nodes:,} nodes, {vcpus:,} vCPU, {gpus:,} GPUs", parts)


def power_at_start(view: View) -> Reading:
    start_mw = float(view.results[TRACE, BASELINE].mean("eopc_w")[0]) / 1e6
    # "just above 0.2": nearer to 0.2 than to 0.3
    miss = f"it starts at {start_mw:.3f} MW"
    return Reading(f"{start_mw:.3f} MW", [part(0.2 < start_mw < 0.25, 0.15 < start_mw < 0.25, miss)])


def power_at_peak(view: View) -> Reading:
    peak_w, load = most(view.results[TRACE, BASELINE].mean("eopc_w"), 0, FULL)
    parts = [
        about(peak_w / 1e6, 1.4, 0.1, 0.1, "the peak in MW"),
        part(load >= 0.9, load >= 0.9 - LOAD_TOLERANCE, f"the peak is at load {load_text(load)}"),
    ]
    return Reading(f"{peak_w / 1e6:.3f} MW at load {load_text(load)}", parts)


def gpu_share(view: View) -> Reading:
    curves = view.results[TRACE, BASELINE]
    percent = curves.mean("gpu_w") / curves.mean("eopc_w") * 100
    low, high = least(percent, LEAST_LOAD, FULL)[0], most(percent, LEAST_LOAD, FULL)[0]
    parts = [
        part(low >= 72, low >= 71, f"the least share is {low:.1f} %"),
        at_most(high, 76, 1, "the largest share"),
    ]
    return Reading(f"{low:.1f} to {high:.1f} % ({percent[0]:.1f} % at load 0)", parts)


DATA = "The built-in tables are not those of the paper; tools/make_tables.py makes them from the published files."
POWER = "The power of an idle and of a full datacenter follows from table II and the CPU model alone: look there first."
NEEDS = needed([TRACE], ())

RULES = (
    Rule(
        "T1",
        "setting, Table I",
        "Default: share of the tasks, and of the GPUs they request, by GPU request 0, (0,1), 1, 2, 4, 8",
        "tasks 13.3, 37.8, 48.0, 0.2, 0.2, 0.5 %; GPU requests 0, 28.5, 64.2, 0.5, 1.0, 5.8 %",
        (),
        table_1,
        DATA,
    ),
    Rule(
        "T2",
        "setting, Table II",
        "GPUs by model with their power, and the size of the datacenter",
        "V100M16 195, V100M32 204, P100 265, T4 842, A10 2, G2 4,392, G3 312; 1,213 nodes, 107,018 vCPU, 6,212 GPUs",
        (),
        table_2,
        DATA,
    ),
    Rule(
        "E1",
        "FGD baseline",
        "Default: the power of the datacenter under FGD starts just above 0.2 MW",
        "just above 0.2 MW",
        NEEDS,
        power_at_start,
        POWER,
    ),
    Rule(
        "E2",
        "FGD baseline",
        "Default: that power peaks at about 1.4 MW near saturation",
        "about 1.4 MW",
        NEEDS,
        power_at_peak,
        POWER,
    ),
    Rule(
        "E3",
        "FGD baseline",
        "Default: of that power the GPUs take between 72 and 76 % at every load",
        "72 to 76 %",
        NEEDS,
        gpu_share,
        POWER,
    ),
)
