"""CSV files that commands write: a header and rows, whole or not there."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from wattpack.files import write_whole


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    def write(temporary: Path) -> None:
        with temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            writer.writerows(rows)

    write_whole(path, write)
