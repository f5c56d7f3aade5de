"""Readers of node and task files (Alibaba 2023 column names). A fault is one line: file, line, column, value."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.errors import UserError
from wattpack.model.nodes import MAX_BASE_W, MAX_GPUS, Datacenter
from wattpack.model.pools import HELD, Pool, only_words
from wattpack.model.power import GPU_MILLI, PAPER, PowerProfile
from wattpack.model.tasks import MAX_MODELS, TaskClass, Workload

MAX_AMOUNT = 10**12  # milli-vCPU or MiB of one node or task: far above any machine, far below overflow
MAX_TASK_GPUS = 10**6
MAX_BYTES = 1_000_000_000  # of a file: ten million tasks

NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
NODE_OPTIONAL = ("cpu_model", "base_w", "pool", "only", "capacity_milli")
TASK_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
TASK_OPTIONAL = ("gpu_spec", "cpu_spec", "pool_spec")
CLASS_COLUMNS = (*TASK_COLUMNS[1:], *TASK_OPTIONAL)  # what makes a class
ARRIVAL_COLUMN = "creation_time"  # read only where time matters


class Row:
    """One line of a file: typed access to its cells, with faults that say where."""

    counted = "line"

    def __init__(self, path: Path, line: int, cells: dict[str, str]) -> None:
        self.path, self.line, self.cells = path, line, cells

    def fault(self, column: str, expected: str) -> UserError:
        value = self.cells.get(column, "")
        return UserError(f"{self.path}, {self.counted} {self.line}, column {column}: {value!r}, expected {expected}")

    def text(self, column: str) -> str:
        return self.cells.get(column, "")

    def amount(self, column: str, most: int = MAX_AMOUNT, least: int = 0) -> int:
        """A whole number from `least` to `most`; `12.0` is accepted for 12."""
        expected = f"a whole number from {least} to {most}"
        text = self.cells[column]
        try:
            # Python reads '1_000' and digits of other scripts as numbers; a spreadsheet would not
            number = int(text) if text.isascii() and "_" not in text else None
        except ValueError:
            try:
                real = float(text)
                number = int(real) if real == int(real) else None
            except (ValueError, OverflowError):
                number = None
        if number is None or not least <= number <= most:
            raise self.fault(column, expected)
        return number

    def seconds(self, column: str, least: float) -> float:
        """A number from `least` on."""
        text = self.cells[column]
        try:
            found = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            found = math.nan
        if not least <= found < math.inf:
            raise self.fault(column, f"seconds from {least:g} on: rows in order of arrival")
        return found

    def watts(self, column: str, most: float) -> float | None:
        """A number from 0 to `most`; None for an empty cell or no such column."""
        text = self.cells.get(column, "")
        if text == "":
            return None
        try:
            found = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            found = math.nan
        if not 0 <= found <= most:
            raise self.fault(column, f"watts from 0 to {most:,.0f}, or empty")
        return found

    def spec(self, column: str) -> str:
        text = self.cells.get(column, "")
        if text != "" and any(part.strip() != part or part == "" for part in text.split("|")):
            raise self.fault(column, f"empty or {'pools' if column == 'pool_spec' else 'models'} like 'A|B'")
        return text

    def pool(self) -> Pool:
        """The node's pool, and which tasks it takes."""
        name = self.text("pool")
        if "|" in name or name == HELD:
            raise self.fault("pool", f"a name without '|', other than {HELD}")
        try:
            return Pool(name, only_words(*self.text("only").split("|")))
        except UserError as fault:
            raise UserError(f"{self.path}, {self.counted} {self.line}, column only: {fault}") from None


def read_datacenter(path: str | Path, profile: PowerProfile = PAPER) -> Datacenter:
    """The nodes of a CSV file; the order of the file is the node order."""
    file = Path(path)
    return datacenter_of(file, read_rows(file, NODE_COLUMNS, NODE_OPTIONAL), profile)


def datacenter_of(file: Path, found: Iterable[Row], profile: PowerProfile = PAPER) -> Datacenter:
    """The nodes of these rows; `file` is what faults name."""
    names: dict[str, int] = {}
    rows: list[tuple[int, int, int, str, str, float | None, int | None]] = []
    pools: list[Pool] = []
    for row in found:
        name = row.text("sn")
        if name == "":
            raise row.fault("sn", "a name")
        if name in names:
            raise row.fault("sn", f"a new name ({row.counted} {names[name]} has it already)")
        names[name] = row.line
        gpus = row.amount("gpu", MAX_GPUS)
        model = row.text("model") if gpus > 0 else ""
        if gpus > 0:
            _known(row, "model", profile.gpu)
        _known(row, "cpu_model", profile.cpu)
        cpu, memory, base = row.amount("cpu_milli"), row.amount("memory_mib"), row.watts("base_w", MAX_BASE_W)
        capacity = row.amount("capacity_milli", least=cpu) if row.text("capacity_milli") else None
        rows.append((cpu, memory, gpus, model, row.text("cpu_model"), base, capacity))
        pools.append(row.pool())
    if not rows:
        raise UserError(f"{file}: no nodes, expected a header ({','.join(NODE_COLUMNS)}) and at least one line")
    cpus, memories, gpus_column, models, cpu_models, base_w, capacities = zip(*rows, strict=True)
    if len(set(models)) > MAX_MODELS or len(set(cpu_models)) > MAX_MODELS:
        raise UserError(f"{file}: {len(set(models))} GPU models, expected at most {MAX_MODELS}")
    amounts = (cpus, memories, gpus_column)
    found_nodes = Datacenter.of(list(names), *amounts, models, cpu_models, file.stem, base_w, capacities)
    return found_nodes.in_pools(pools)


def _known(row: Row, column: str, look_up: Callable[[str], object]) -> None:
    try:
        look_up(row.text(column))
    except UserError as unknown:
        raise UserError(f"{row.path}, {row.counted} {row.line}, column {column}: {unknown}") from None


def read_workload(path: str | Path) -> Workload:
    """The tasks of a CSV file; the order of the file is the order of arrival. An empty file is an empty workload."""
    file = Path(path)
    return workload_of(file, read_rows(file, TASK_COLUMNS, TASK_OPTIONAL))


def workload_of(file: Path, found: Iterable[Row]) -> Workload:
    """The tasks of these rows; `file` is what faults name."""
    names: list[str] = []
    tasks: list[TaskClass] = []
    known: dict[tuple[str | None, ...], TaskClass] = {}  # by cells: tasks are many, classes few
    for row in found:
        cells = tuple(map(row.cells.get, CLASS_COLUMNS))
        if cells not in known:
            known[cells] = _task_class(row)
        names.append(row.text("name"))
        tasks.append(known[cells])
    return Workload.of(tasks, names, name=file.stem)


def _task_class(row: Row) -> TaskClass:
    num_gpu = row.amount("num_gpu", MAX_TASK_GPUS)
    gpu_milli = 0
    if num_gpu > 0:
        gpu_milli = row.amount("gpu_milli", GPU_MILLI, least=1)
        if gpu_milli < GPU_MILLI and num_gpu > 1:
            raise row.fault("gpu_milli", f"{GPU_MILLI} for a task with num_gpu {num_gpu}")
    amounts = (row.amount("cpu_milli"), row.amount("memory_mib"))
    return TaskClass(*amounts, num_gpu, gpu_milli, *(row.spec(column) for column in TASK_OPTIONAL))


def read_arrival_s(path: str | Path) -> NDArray[np.float64]:
    """When the tasks of a CSV file come: its column `creation_time`, seconds, ascending."""
    found: list[float] = []
    for row in read_rows(Path(path), (ARRIVAL_COLUMN,), ()):
        found.append(row.seconds(ARRIVAL_COLUMN, found[-1] if found else 0.0))
    return np.array(found, dtype=np.float64)


def read_rows(file: Path, required: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[Row]:
    """Lines of a CSV file with a header; blank lines are passed over, columns may come in any order.

    A file without any text has no lines; whether that is a fault is the caller's to say.
    """
    yield from rows_in(file, read_bytes_up_to(file, MAX_BYTES, "a CSV file"), required, optional)


def rows_in(file: Path, data: bytes, required: tuple[str, ...], optional: tuple[str, ...]) -> Iterator[Row]:
    """`read_rows` of a file that was read already."""
    try:
        text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig").read()
    except UnicodeDecodeError as fault:
        raise UserError(f"{file}: not UTF-8 text (byte {fault.start}), expected a CSV file") from None
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        lines = ((reader.line_num, [cell.strip() for cell in cells]) for cells in reader)
        filled = ((line, cells) for line, cells in lines if cells not in ([], [""]))
        first, header = next(filled, (0, []))
        if not header:
            return
        missing = [column for column in required if column not in header]
        if missing:
            raise UserError(f"{file}, line {first}: no column {missing[0]!r}, expected {','.join(required)}")
        doubled = [column for column in (*required, *optional) if header.count(column) > 1]
        if doubled:
            raise UserError(f"{file}, line {first}: column {doubled[0]!r} appears twice, expected once")
        for line, cells in filled:
            if len(cells) != len(header):
                raise UserError(f"{file}, line {line}: {len(cells)} cells, expected {len(header)}")
            yield Row(file, line, dict(zip(header, cells, strict=True)))
    except csv.Error as fault:
        raise UserError(f"{file}, line {reader.line_num}: {fault}, expected CSV") from None
