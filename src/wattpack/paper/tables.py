"""Tables I and II of the paper, computed from the built-in data, as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wattpack.datasets import alibaba2023
from wattpack.datasets.derive import profile
from wattpack.files import make_folder, write_text
from wattpack.model.power import PAPER

GPU_REQUESTS = ("0", "(0,1)", "1", "2", "4", "8")  # columns of table I
GPU_MODELS = ("V100M16", "V100M32", "P100", "T4", "A10", "G2", "G3")  # rows of table II
TAKEN_FOR = {"G2": "A10", "G3": "A100"}  # the trace hides these two names; the paper takes them for known ones


@dataclass(frozen=True)
class PaperTable:
    """A table as the paper prints it; numbers stay numbers until they are written."""

    name: str  # of the files
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]
    note: str = ""

    def csv_text(self) -> str:
        """Numbers with two digits more than the paper's, so that a reader sees which way they were rounded."""
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(self.header)
        writer.writerows([[_cell(value, 3) for value in row] for row in self.rows])
        return file.getvalue()

    def markdown_text(self) -> str:
        lines = [f"**{self.caption}**", "", _line(self.header), _line(["---", *["---:"] * (len(self.header) - 1)])]
        lines += [_line([_cell(value, 1) for value in row]) for row in self.rows]
        return "\n".join([*lines, *(["", self.note] if self.note else []), ""])


def paper_tables() -> tuple[PaperTable, PaperTable]:
    population, requests = task_shares_percent()
    table_1 = PaperTable(
        "table1",
        "Table I. Distribution of tasks in the Default trace.",
        ("GPU request per task", *GPU_REQUESTS),
        (("task population (%)", *population), ("total GPU requests (%)", *requests)),
    )
    nodes, vcpus, gpus = size_of_datacenter()
    table_2 = PaperTable(
        "table2",
        "Table II. GPU models in the trace data.",
        ("GPU model", "amount", "power idle (W)", "TDP (W)"),
        tuple(
            (f"{model} ({TAKEN_FOR[model]})" if model in TAKEN_FOR else model, count, *gpu_power_w(model))
            for model, count in gpus_by_model().items()
        ),
        note=f"{nodes:,} nodes, {vcpus:,} vCPU, {gpus:,} GPUs.",
    )
    return table_1, table_2


def write_tables(folder: Path) -> list[Path]:
    """`table1` and `table2`, each as `.csv` and `.md`."""
    make_folder(folder)
    written = []
    for table in paper_tables():
        for kind, text in (("csv", table.csv_text()), ("md", table.markdown_text())):
            path = folder / f"{table.name}.{kind}"
            write_text(path, text)
            written.append(path)
    return written


def task_shares_percent() -> tuple[list[float], list[float]]:
    """Of the Default trace: shares of the tasks, and of the GPUs they request, in the order of GPU_REQUESTS."""
    shares = profile(alibaba2023.trace("default"))
    population, requests = shares["population_share"], shares["gpu_demand_share"]
    return [100 * population[request] for request in GPU_REQUESTS], [
        100 * requests[request] for request in GPU_REQUESTS
    ]


def gpus_by_model() -> dict[str, int]:
    """GPUs of the datacenter by model, in the paper's order; models that the paper does not have come last."""
    datacenter = alibaba2023.datacenter()
    counts: Counter[str] = Counter()
    for model, gpus in zip(datacenter.model.tolist(), datacenter.gpus.tolist(), strict=True):
        counts[datacenter.models[model]] += gpus
    order = [*GPU_MODELS, *sorted(set(counts) - set(GPU_MODELS))]
    return {model: counts[model] for model in order if counts[model] > 0}


def gpu_power_w(model: str) -> tuple[float, float]:
    """Idle and maximum power."""
    power = PAPER.gpu(model)
    return power.idle_w, power.max_w


def size_of_datacenter() -> tuple[int, int, int]:
    """Nodes, vCPU, GPUs."""
    datacenter = alibaba2023.datacenter()
    return len(datacenter), int(datacenter.cpu_milli.sum()) // 1000, int(datacenter.gpus.sum())


def _cell(value: str | float, digits: int) -> str:
    """Counts and watts are whole numbers and stay so; shares get `digits` digits."""
    if isinstance(value, str):
        return value
    return f"{value:g}" if value == int(value) else f"{value:.{digits}f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
