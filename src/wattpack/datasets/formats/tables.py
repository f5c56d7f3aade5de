"""Lines of text files with a header; a line that cannot be cut into cells is refused alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from wattpack.datasets.csv_files import MAX_BYTES
from wattpack.datasets.formats.format import BadLine
from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.errors import UserError

Cells = dict[str, str]


def text_lines(path: Path, expected: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, blank ones passed over. Bytes that are no UTF-8 are replaced: names may have any."""
    data = read_bytes_up_to(path, MAX_BYTES, expected)
    for line, text in enumerate(io.BytesIO(data.removeprefix(b"\xef\xbb\xbf")), 1):
        if text.strip():
            yield line, text.rstrip(b"\r\n").decode("utf-8", errors="replace")


def table_records(path: Path, required: tuple[str, ...], delimiter: str = ",") -> Iterator[tuple[int, Cells | BadLine]]:
    """Cells by column of each line below the header. With `|` there are no quotes, as Slurm writes none."""
    header: list[str] = []
    for line, text in text_lines(path, "a text file with a header"):
        try:
            cells = [cell.strip() for cell in _cut(text, delimiter)]
        except csv.Error as fault:
            if not header:
                raise UserError(f"{path}, line {line}: {fault}, expected a header ({','.join(required)})") from None
            yield line, BadLine(f"{fault}, expected CSV")
            continue
        if not header:
            header = cells
            _check_header(path, line, header, required)
        elif len(cells) != len(header):
            yield line, BadLine(f"{len(cells)} cells, expected {len(header)}")
        else:
            yield line, dict(zip(header, cells, strict=True))
    if not header:
        raise UserError(f"{path}: empty, expected a header ({','.join(required)}) and a line for each job")


def _cut(text: str, delimiter: str) -> list[str]:
    return text.split(delimiter) if delimiter == "|" else next(csv.reader((text,), strict=True))


def _check_header(path: Path, line: int, header: list[str], required: tuple[str, ...]) -> None:
    missing = [column for column in required if column not in header]
    if missing:
        raise UserError(f"{path}, line {line}: no column {missing[0]!r}, expected {','.join(required)}")
    doubled = [column for column in required if header.count(column) > 1]
    if doubled:
        raise UserError(f"{path}, line {line}: column {doubled[0]!r} appears twice, expected once")
