"""`python -m benchmarks.against OTHER_TREE`: the benchmark `run` of this tree and of another checkout, in turns.

These machines are noisy, so two numbers from two days say nothing. Here both trees run in turns on one machine; the
ratio of the best times is what counts. Both use this Python and its packages.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.machine import machine
from wattpack.files import make_folder, write_text

ROUNDS = 6
HERE = Path(__file__).resolve().parents[1]


def best_ms(tree: Path) -> dict[str, float]:
    """The best time of each policy's run, measured in a process that imports this tree alone."""
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "benchmarks", "run", "--out", out]
        subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.DEVNULL)
        rows = json.loads(Path(out, "run.json").read_text())["rows"]
    return {row["policy"]: row["run_ms_best"] for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against", description=__doc__)
    parser.add_argument("tree", type=Path, help="another checkout of this repository")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"), help="folder for against.json")
    chosen = parser.parse_args()
    other = chosen.tree.resolve()
    on = machine()
    best_ms(HERE), best_ms(other)  # compile both
    turns = [(best_ms(HERE), best_ms(other)) for _ in range(chosen.rounds)]
    rows = []
    for policy in [name for name in turns[0][0] if all(name in theirs for _, theirs in turns)]:
        here, there = ([turn[side][policy] for turn in turns] for side in (0, 1))
        rows.append(
            {
                "policy": policy,
                "other_ms_best": min(there),
                "this_ms_best": min(here),
                "ratio_of_best": round(min(here) / min(there), 3),
                "ratio_of_medians": round(statistics.median(here) / statistics.median(there), 3),
            }
        )
        print("  " + ", ".join(f"{key} {value}" for key, value in rows[-1].items()))
    commits = [
        subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=tree, check=True, capture_output=True, text=True)
        for tree in (HERE, other)
    ]
    result = {
        "benchmark": "against",
        "machine": on,
        "this": commits[0].stdout.strip(),
        "other": commits[1].stdout.strip(),
        "rounds": chosen.rounds,
        "rows": rows,
    }
    write_text(make_folder(chosen.out) / "against.json", json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
