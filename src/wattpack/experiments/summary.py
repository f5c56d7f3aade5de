"""`summary.csv`: the mean over the seeds at every hundredth of load, with what is needed to show the spread."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wattpack.experiments.curves import BASE, LEAST, LOADS, STEP, Results
from wattpack.experiments.saving import in_files
from wattpack.files import write_whole

HEADER = (
    *("trace", "policy", "load", "eopc_w", "cpu_w", "gpu_w", "saving", "grar", "fragmentation_milli", "seeds"),
    *("eopc_w_std", "saving_std", "grar_std", "fragmentation_milli_std", "allocated", "failed"),
    *("datacenter", "profile"),
    LEAST,
    BASE,
    "against",
)
EVERY = round(0.01 / STEP)


def summary_rows(results: Results, policies: Collection[str] | None = None) -> list[list[str]]:
    """Rows of `summary.csv`, of all policies or of these; cells of loads that no run reached are empty."""
    rows = []
    for (trace, policy), curves in results.items():
        if policies is not None and policy not in policies:
            continue
        against = in_files(results.against)
        compared = results.base(trace, against) is not None
        saving = results.saving(trace, policy, against) if compared else None
        saving_std = results.saving_spread(trace, policy, against) if compared else None
        loads = [f"{i * STEP:.2f}" for i in range(0, len(LOADS), EVERY)]
        columns = (
            [trace] * len(loads),
            [policy] * len(loads),
            loads,
            _texts(curves.mean("eopc_w"), 1),
            _texts(curves.mean("cpu_w"), 1),
            _texts(curves.mean("gpu_w"), 1),
            _texts(saving, 6),
            _texts(curves.mean("grar"), 6),
            _texts(curves.mean("fragmentation_milli"), 2),
            [str(len(curves.seeds))] * len(loads),
            _texts(curves.spread("eopc_w"), 1),
            _texts(saving_std, 6),
            _texts(curves.spread("grar"), 6),
            _texts(curves.spread("fragmentation_milli"), 2),
            _texts(curves.mean("allocated"), 6),
            _texts(curves.mean("failed"), 1),
            [curves.datacenter] * len(loads),
            [curves.profile] * len(loads),
            _texts(curves.mean(LEAST) if LEAST in curves.values else None, 1),
            _texts(curves.base_w(), 1),
            [against if compared else ""] * len(loads),
        )
        rows += [list(row) for row in zip(*columns, strict=True)]
    return rows


def _texts(values: NDArray[np.float64] | None, digits: int) -> list[str]:
    """Every hundredth of load as text; empty for a NaN, or where there are no values at all."""
    if values is None:
        return [""] * len(LOADS[::EVERY])
    # plain numbers: formatting numpy's took three times as long
    return ["" if math.isnan(value) else f"{value + 0.0:.{digits}f}" for value in values[::EVERY].tolist()]


def write_summary(path: Path, results: Results) -> None:
    write_summary_parts(path, [(results, None)])


def write_summary_parts(path: Path, parts: Iterable[tuple[Results, Collection[str] | None]]) -> None:
    """The same part by part, for more runs than should be held at once: results, and the policies meant in them."""

    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(HEADER)
            for results, policies in parts:
                writer.writerows(summary_rows(results, policies))

    write_whole(path, write)
