"""Write the tables of the built-in datacenters and traces from the published files of two Alibaba traces.

    python tools/make_tables.py FOLDER [OUT]

FOLDER holds those of the GPU trace of 2023 (`openb_node_list_gpu_node.csv` and `openb_pod_list_<trace>.csv`) or that of
the spot-GPU trace of 2026 (`node_info_df.csv`); OUT is the package's folder of tables unless given. Nodes are sorted by
model, GPUs, vCPU, memory; classes by num_gpu, gpu_milli, vCPU, memory, gpu_spec. A task count of 0 is an empty cell.
"""

import csv
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from wattpack.datasets import alibaba2023, alibaba2026
from wattpack.datasets.alibaba2023 import CLASS_COLUMNS, TRACES
from wattpack.datasets.csv_files import read_datacenter, read_workload
from wattpack.datasets.node_table import NODE_TYPE_COLUMNS
from wattpack.model.tasks import TaskClass

NODES_2026 = "node_info_df.csv"
TABLES = Path(__file__).resolve().parents[1] / "src" / "wattpack" / "datasets" / "tables"


def node_types(folder: Path) -> list[tuple[int, int, int, str, int]]:
    nodes = read_datacenter(folder / "openb_node_list_gpu_node.csv")
    models = [nodes.models[model] for model in nodes.model.tolist()]
    columns = (nodes.cpu_milli.tolist(), nodes.memory_mib.tolist(), nodes.gpus.tolist(), models)
    counts = Counter(zip(*columns, strict=True))
    rows = [(cpu, memory, gpus, model, count) for (cpu, memory, gpus, model), count in counts.items()]
    return sorted(rows, key=lambda row: (row[3], row[2], row[0], row[1]))


def node_types_2026(folder: Path) -> list[tuple[int, int, int, str, int]]:
    with (folder / NODES_2026).open(encoding="utf-8", newline="") as file:
        nodes = [
            (int(row["cpu_num"]), int(row["gpu_capacity_num"]), alibaba2026.TAKEN_FOR.get(model, model))
            for row in csv.DictReader(file)
            for model in [row["gpu_model"]]
        ]
    rows = [
        (vcpu * 1000, vcpu * alibaba2026.MEMORY_MIB_PER_VCPU, gpus, model, count)
        for (vcpu, gpus, model), count in Counter(nodes).items()
    ]
    return sorted(rows, key=lambda row: (row[3], row[2], row[0], row[1]))


def class_counts(folder: Path) -> list[tuple[object, ...]]:
    traces: dict[str, dict[TaskClass, int]] = {}
    for trace in TRACES:
        tasks = read_workload(folder / f"openb_pod_list_{trace}.csv")
        traces[trace] = dict(zip(tasks.classes, tasks.counts().tolist(), strict=True))
    classes = {task for counts in traces.values() for task in counts}
    ordered = sorted(classes, key=lambda t: (t.num_gpu, t.gpu_milli, t.cpu_milli, t.memory_mib, t.gpu_spec))
    # cpu_spec, the last field, is always empty in the published files: not in the table
    return [(*task[: len(CLASS_COLUMNS)], *(traces[trace].get(task, "") for trace in TRACES)) for task in ordered]


def write(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    folder, out = Path(arguments[0]), Path(arguments[1]) if len(arguments) == 2 else TABLES
    if (folder / NODES_2026).is_file():
        write(out / alibaba2026.TABLE, NODE_TYPE_COLUMNS, node_types_2026(folder))
        return 0
    write(out / alibaba2023.TABLE, NODE_TYPE_COLUMNS, node_types(folder))
    write(out / "classes.csv", (*CLASS_COLUMNS, *TRACES), class_counts(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
