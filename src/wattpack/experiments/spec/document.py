"""Reads a TOML or JSON file as plain values; a syntax error is reported with its line and column."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from wattpack.datasets.input_files import read_bytes_up_to
from wattpack.errors import UserError

MAX_BYTES = 10_000_000  # an experiment is a page; a file this large is something else


def read_document(file: Path) -> dict[str, Any]:
    """The table that the file holds; `.toml` or `.json` says how it is written."""
    kind = file.suffix.lower()
    if kind not in (".toml", ".json"):
        raise UserError(f"{file}: not an experiment, expected a file that ends in .toml or .json")
    try:
        text = read_bytes_up_to(file, MAX_BYTES, "an experiment").decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise UserError(f"{file}: not UTF-8 text (byte {fault.start}), expected an experiment") from None
    try:
        document = tomllib.loads(text) if kind == ".toml" else json.loads(text, object_pairs_hook=_without_doubles)
    except (tomllib.TOMLDecodeError, ValueError) as fault:  # both say the line and the column
        raise UserError(f"{file}: {' '.join(str(fault).split())}, expected {kind[1:].upper()}") from None
    except RecursionError:
        raise UserError(f"{file}: nested too deeply, expected an experiment") from None
    if not isinstance(document, dict):
        raise UserError(f"{file}: a {type(document).__name__}, expected a table of axes")
    return document


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON lets a key come twice and keeps the last; TOML refuses it, and so do we."""
    table = dict(pairs)
    if len(table) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {Counter(keys).most_common(1)[0][0]!r} appears twice")
    return table
