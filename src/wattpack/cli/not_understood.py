"""Refuses files of `wattpack import` that could not count all GPUs that pods hold."""

from __future__ import annotations

from pathlib import Path

from wattpack.datasets.csv_files import read_rows
from wattpack.errors import UserError

NOT_UNDERSTOOD = "not-understood.csv"  # beside the files of `wattpack import`: pods whose GPUs would look free


def refuse_not_understood(*files: Path) -> None:
    """Looks beside each of the files: any of them may lie in the folder of the import."""
    for folder in dict.fromkeys(file.parent for file in files):
        listed = folder / NOT_UNDERSTOOD
        if not listed.is_file():
            continue
        from wattpack.kube.not_understood import NotUnderstood, refusal

        rows = [
            NotUnderstood(*(row.text(column) for column in NotUnderstood._fields))
            for row in read_rows(listed, NotUnderstood._fields, ())
        ]
        if rows:
            raise UserError(f"{listed}: {refusal(rows)}, expected an import that understands them (--dialect)")
