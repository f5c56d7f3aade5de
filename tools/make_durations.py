"""Write the table of durations and classes of service of the built-in traces from the published file of `default`.

    python tools/make_durations.py FOLDER [OUT]

FOLDER holds `openb_pod_list_default.csv` of the GPU trace of 2023; OUT is the package's folder of tables unless given.
A row is a class (without `gpu_spec`: `default` names no model) and class of service: how many tasks, and the durations
of those that ran, as `50x3 167 2240`: three of 50 s, one of 167 s, one of 2,240 s. A duration is `deletion_time` minus
`scheduled_time`, rounded to three significant digits. A task that was never scheduled has none, except where no task
of its class ever was (one class of one task): there it is `deletion_time` minus `creation_time`.
"""

import csv
import sys
from collections import Counter
from pathlib import Path

from wattpack.datasets.alibaba2023_times import COLUMNS, TABLE

PUBLISHED = "openb_pod_list_default.csv"
TABLES = Path(__file__).resolve().parents[1] / "src" / "wattpack" / "datasets" / "tables"

Key = tuple[int, int, int, int, str]  # columns of the table up to `qos`


def rounded(seconds: float) -> int:
    """To three significant digits, half away from zero, at least 1."""
    whole = max(int(seconds + 0.5), 1)
    unit = 10 ** max(len(str(whole)) - 3, 0)
    return (whole + unit // 2) // unit * unit


def rows(folder: Path) -> list[tuple[object, ...]]:
    tasks: Counter[Key] = Counter()
    durations: dict[Key, Counter[int]] = {}
    lives: dict[Key, list[int]] = {}  # of tasks that were never scheduled
    with (folder / PUBLISHED).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            amounts = (int(row[column]) for column in ("cpu_milli", "memory_mib", "num_gpu", "gpu_milli"))
            key = (*amounts, row["qos"])
            tasks[key] += 1
            if row["scheduled_time"] != "":
                ran_s = float(row["deletion_time"]) - float(row["scheduled_time"])
                durations.setdefault(key, Counter())[rounded(ran_s)] += 1
            else:
                lives.setdefault(key, []).append(rounded(float(row["deletion_time"]) - float(row["creation_time"])))
    ran = {key[:4] for key in durations}
    durations |= {key: Counter(found) for key, found in lives.items() if key[:4] not in ran}
    ordered = sorted(tasks, key=lambda key: (key[2], key[3], key[0], key[1], key[4]))
    return [(*key, tasks[key], as_text(durations.get(key, Counter()))) for key in ordered]


def as_text(counts: Counter[int]) -> str:
    return " ".join(f"{seconds}x{count}" if count > 1 else str(seconds) for seconds, count in sorted(counts.items()))


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    folder, out = Path(arguments[0]), Path(arguments[1]) if len(arguments) == 2 else TABLES
    with (out / TABLE).open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
