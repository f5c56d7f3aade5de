"""`summary.csv`: the mean over the seeds at every hundredth of load, with what is needed to show the spread."""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable
from pathlib import Path

import numpy as np

from wattpack.experiments.curves import STEP, Curves
from wattpack.files import write_whole

Results = dict[tuple[str, str], Curves]

BASELINE = "fgd"
HEADER = (
    *("trace", "policy", "load", "eopc_w", "cpu_w", "gpu_w", "saving", "grar", "fragmentation_milli", "seeds"),
    *("eopc_w_std", "saving_std", "grar_std", "fragmentation_milli_std", "allocated", "failed"),
)
EVERY = round(0.01 / STEP)


def summary_rows(results: Results, policies: Collection[str] | None = None) -> list[list[str]]:
    """Rows of `summary.csv`, of all policies or of these; cells of loads that no run reached are empty."""
    rows = []
    for (trace, policy), curves in results.items():
        if policies is not None and policy not in policies:
            continue
        baseline = results.get((trace, BASELINE))
        saving = curves.saving(baseline) if baseline else None
        by_seed = curves.saving_by_seed(baseline) if baseline else None
        saving_std = by_seed.std(axis=0, ddof=1 if len(by_seed) > 1 else 0) if by_seed is not None else None
        mean = {
            column: curves.mean(column)
            for column in ("eopc_w", "cpu_w", "gpu_w", "grar", "fragmentation_milli", "allocated", "failed")
        }
        spread = {column: curves.spread(column) for column in ("eopc_w", "grar", "fragmentation_milli")}
        for i in range(0, len(mean["eopc_w"]), EVERY):
            rows.append(
                [
                    trace,
                    policy,
                    f"{i * STEP:.2f}",
                    _number(mean["eopc_w"][i], 1),
                    _number(mean["cpu_w"][i], 1),
                    _number(mean["gpu_w"][i], 1),
                    _number(saving[i], 6) if saving is not None else "",
                    _number(mean["grar"][i], 6),
                    _number(mean["fragmentation_milli"][i], 2),
                    str(len(curves.seeds)),
                    _number(spread["eopc_w"][i], 1),
                    _number(saving_std[i], 6) if saving_std is not None else "",
                    _number(spread["grar"][i], 6),
                    _number(spread["fragmentation_milli"][i], 2),
                    _number(mean["allocated"][i], 6),
                    _number(mean["failed"][i], 1),
                ]
            )
    return rows


def _number(value: np.floating | float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value + 0.0:.{digits}f}"


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
