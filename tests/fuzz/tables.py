"""CSV files of nodes, tasks and placements: well-formed ones, and ones with faults in cells, columns and lines."""

from __future__ import annotations

import csv
import io
from typing import Any

from hypothesis import strategies as st

from fuzz.case import Entry
from fuzz.odd import Strategy, entry, odd_text

Table = list[list[str]]  # the header, then the rows

MODELS = ("T4", "G2", "P100", "V100M16", "A10", "G3")
NODE_COLUMNS = ["sn", "cpu_milli", "memory_mib", "gpu", "model"]
TASK_COLUMNS = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "creation_time"]
PLACEMENT_COLUMNS = ["task", "node", "gpu_index"]


@st.composite
def node_rows(draw: Any) -> Table:
    rows = [NODE_COLUMNS]
    for number in range(draw(st.integers(1, 5))):
        gpus = draw(st.integers(0, 8))
        cpu, memory = draw(st.sampled_from((1000, 32_000, 96_000, 0))), draw(st.sampled_from((1024, 262_144, 0)))
        rows.append([f"n{number}", str(cpu), str(memory), str(gpus), draw(st.sampled_from(MODELS)) if gpus else ""])
    return rows


@st.composite
def task_rows(draw: Any) -> Table:
    rows = [TASK_COLUMNS]
    for number in range(draw(st.integers(0, 10))):
        gpus = draw(st.sampled_from((0, 1, 1, 1, 2, 4, 8)))
        milli = draw(st.sampled_from((1000, 500, 300, 10))) if gpus == 1 else 1000 * (gpus > 0)
        spec = draw(st.sampled_from(("", "", "", "T4", "G2|T4", "H100")))
        cpu, memory = draw(st.sampled_from((1000, 0, 4000, 64_000))), draw(st.sampled_from((1024, 0, 30_000)))
        rows.append([f"t{number}", str(cpu), str(memory), str(gpus), str(milli), spec, str(10 * number)])
    return rows


@st.composite
def timed_task_rows(draw: Any) -> Table:
    """Tasks with durations and classes of service; one may never leave."""
    header, *rows = draw(task_rows())
    times = st.sampled_from(("60", "3600", "0", "12.5", ""))
    return [
        [*header, "duration", "qos"],
        *([*row, draw(times), draw(st.sampled_from(("", "BE", "LS")))] for row in rows),
    ]


@st.composite
def placement_rows(draw: Any, nodes: Table, tasks: Table) -> Table:
    """Each task somewhere or nowhere; whether it has room there is not looked at."""
    rows = [PLACEMENT_COLUMNS]
    for task in tasks[1:]:
        node = draw(st.sampled_from(nodes[1:])) if len(nodes) > 1 and draw(st.booleans()) else None
        gpus, first = int(task[3]), draw(st.integers(0, 3))
        index = "-".join(str(first + i) for i in range(gpus)) if node else ""
        rows.append([task[0], node[0] if node else "", index])
    return rows


@st.composite
def faulty(draw: Any, table: Table) -> Table:
    """The table with a fault in a cell, a column or a line. A table without rows may get one."""
    rows = [list(row) for row in table]
    row = draw(st.integers(0, len(rows) - 1))
    column = draw(
        st.integers(0, max(min(map(len, rows)) - 1, 0))
    )  # an earlier fault may have left rows of unlike length
    kind = draw(
        st.sampled_from(("cell", "cell", "cell", "same", "short", "long", "no column", "twice", "new", "order", "many"))
    )
    if kind == "cell":
        rows[row][column : column + 1] = [draw(odd_text())]
    elif kind == "same":
        rows.append(list(rows[row]))
    elif kind == "short":
        rows[row] = rows[row][:-1]
    elif kind == "long":
        rows[row].append(draw(odd_text()))
    elif kind == "no column":
        rows = [line[:column] + line[column + 1 :] for line in rows]
    elif kind == "twice":
        rows = [[*line, *line[column : column + 1]] for line in rows]
    elif kind == "new":
        name = draw(st.sampled_from(("cpu_model", "cpu_spec", "note", "", "deletion_time", "duration")))
        rows = [[*line, name if number == 0 else draw(odd_text())] for number, line in enumerate(rows)]
    elif kind == "order":
        rows = [line[column:] + line[:column] for line in rows]
    else:
        value = draw(odd_text())
        rows = rows[:1] + [[*line[:column], value, *line[column + 1 :]] for line in rows[1:]]
    return rows


def as_csv(table: Table) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue().encode("utf-8")


@st.composite
def csv_file(draw: Any, table: Strategy[Table], faults: bool) -> Entry | None:
    """The table as a file; with `faults` perhaps one or two in the table, or one in the bytes."""
    rows = draw(table)
    for _ in range(draw(st.integers(0, 2)) if faults else 0):
        rows = draw(faulty(rows))
    return draw(entry(as_csv(rows), faults))
