"""`python -m benchmarks schedulers [--page PAGE]`: schedulers that people run on 13 traces and two fleets.

Fill-ups only, under three power profiles. Savings are watts per GPU served against `kube` and against FGD, means over
traces and seeds; the worst and the best trace stand beside them. With --page the tables of that page are written anew.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import wattpack as wp
from benchmarks.future import write_tables
from benchmarks.machine import machine
from wattpack.datasets import alibaba2023
from wattpack.experiments.saving import saved
from wattpack.files import make_folder, write_text

POLICIES = (
    *("kube", "kubeall", "kubepack", "kuberatio", "volcano", "volcanopack", "kai", "kaispread", "hami", "hamispread"),
    *("yunikorn", "yunikornpack", "slurm", "slurmlln", "fgd", "pwr:0.1+fgd:0.9", "ocs"),
)
DATACENTERS = ("alibaba2023", "alibaba2026")
PROFILES = ("paper", "concave", "measured")
LOADS = (0.2, 0.5, 0.8, 1.0)
SEEDS = (101, 102, 103)  # no choice was made on them
AGAINST = ("kube", "fgd")


def runs_of(setting: tuple[str, str, str]) -> list[dict[str, Any]]:
    """Watts and GRAR of every policy at LOADS, mean over SEEDS, for one datacenter, trace and profile."""
    name, trace, profile = setting
    datacenter, workload = wp.load_datacenter(name), wp.load_trace(trace)
    rows = []
    for policy in POLICIES:
        found = []
        for seed in SEEDS:
            run = wp.simulate(datacenter, workload, policy, seed=seed, profile=profile)
            assert isinstance(run, wp.Run)
            at = np.minimum(run.load.searchsorted(LOADS), len(run.load) - 1)
            found.append((run.power_w[at], run.grar[at]))
        watts, grar = np.mean(found, axis=0)
        watts, grar = np.round(watts, 1), np.round(grar, 5)
        row = {"datacenter": name, "trace": trace, "profile": profile, "policy": policy}
        rows.append({**row, "watts": watts.tolist(), "grar": grar.tolist()})
    return rows


def savings(rows: Sequence[dict[str, Any]], against: str) -> list[tuple[dict[str, Any], np.ndarray]]:
    """Each row with its saving at LOADS against another policy of the same setting."""
    others = {setting_of(row): row for row in rows if row["policy"] == against}
    pairs = [(row, others[setting_of(row)]) for row in rows]
    return [(row, saved(row["watts"], row["grar"], other["watts"], other["grar"])) for row, other in pairs]


def setting_of(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["datacenter"], row["trace"], row["profile"]


def table(rows: Sequence[dict[str, Any]], datacenter: str, profile: str) -> str:
    """One row a policy: mean saving over the traces against `kube`, worst and best trace, against FGD, GRAR."""
    own = [row for row in rows if (row["datacenter"], row["profile"]) == (datacenter, profile)]
    loads = " | ".join(f"{load:g}" for load in LOADS[:3])
    head = "worst and best trace at 0.5 | against FGD at 0.5 | GRAR at 1.0"
    lines = [f"| policy | against kube, % at load {loads} | {head} |"]
    lines.append("|---" * 7 + "|")
    of_kube, of_fgd = savings(own, "kube"), savings(own, "fgd")
    for policy in POLICIES:
        to_kube = np.array([values for row, values in of_kube if row["policy"] == policy]) * 100
        to_fgd = np.array([values for row, values in of_fgd if row["policy"] == policy]) * 100
        grar = np.mean([row["grar"][3] for row in own if row["policy"] == policy])
        means = " | ".join(f"{mean:.1f}" for mean in to_kube.mean(axis=0)[:3])
        worst, best = to_kube[:, 1].min(), to_kube[:, 1].max()
        lines.append(f"| `{policy}` | {means} | {worst:.1f}, {best:.1f} | {to_fgd[:, 1].mean():.1f} | {grar:.3f} |")
    return "\n".join(lines).replace("-0.0 ", "0.0 ")


def page_tables(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    return {f"{name} {profile}": table(rows, name, profile) for name in DATACENTERS for profile in PROFILES}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks schedulers", description=__doc__)
    parser.add_argument("--page", type=Path, help="page whose tables are written")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for schedulers.json")
    chosen = parser.parse_args(arguments)
    settings = [(name, trace, p) for name in DATACENTERS for trace in alibaba2023.TRACES for p in PROFILES]
    start, rows = time.perf_counter(), []
    with ProcessPoolExecutor(2) as pool:
        for done, found in enumerate(pool.map(runs_of, settings), 1):
            rows += found
            print(f"{done} of {len(settings)}", flush=True)
    took_s = round(time.perf_counter() - start, 1)
    result = {"benchmark": "schedulers", "machine": machine(), "took_s": took_s, "seeds": SEEDS, "loads": LOADS}
    text = json.dumps({**result, "rows": rows}).replace("}, {", "},\n {")
    write_text(make_folder(chosen.out) / "schedulers.json", text + "\n")
    if chosen.page:
        write_tables(chosen.page, page_tables(rows))


if __name__ == "__main__":
    main()
