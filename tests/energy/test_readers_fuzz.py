"""Damaged files of every shape end in a signal or in one line, never in a traceback."""

import re
from pathlib import Path

import numpy as np
import pytest

from wattpack.energy.readers import read_signal
from wattpack.energy.signal import BUDGET, CARBON, PRICE
from wattpack.errors import UserError

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "energy.md").read_text(encoding="utf-8")
EXAMPLES = [text.encode() for text in re.findall(r"```(?:csv|json)\n(.*?)```", PAGE, flags=re.DOTALL)]
ODD = (
    b"",
    b"\x00",
    b"\xff",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b"null",
    b"1e999",
    b"-",
    b",",
    b"\n",
    b"9" * 400,
    b"NaN",
    b"T",
    b"'",
)


def damaged(data: bytes, random: np.random.Generator) -> bytes:
    """One to three pieces of up to 12 bytes replaced by odd ones."""
    for _ in range(random.integers(1, 4)):
        at, length = int(random.integers(0, len(data) + 1)), int(random.integers(0, 12))
        data = data[:at] + ODD[int(random.integers(0, len(ODD)))] + data[at + length :]
    return data


def try_to_read(file: Path) -> None:
    for quantity in (CARBON, PRICE, BUDGET):
        said = ""
        try:
            said = read_signal(file, quantity).shape
        except UserError as fault:
            said = str(fault)
        assert said
        assert "\n" not in said
        assert len(said) < 1000


@pytest.mark.parametrize("place", range(len(EXAMPLES)))
def test_a_damaged_text_file_ends_in_one_line(place: int, tmp_path: Path) -> None:
    random, file = np.random.default_rng(place), tmp_path / "odd"
    for _ in range(60):
        file.write_bytes(damaged(EXAMPLES[place], random))
        try_to_read(file)


def test_a_damaged_parquet_file_ends_in_one_line(tmp_path: Path) -> None:
    import duckdb

    whole, file, random = tmp_path / "whole", tmp_path / "odd", np.random.default_rng(1)
    made = "SELECT make_timestamp(i * 3600000000) AS timestamp, 1.0 * i AS carbon_intensity FROM range(50) t(i)"
    duckdb.execute(f"COPY ({made}) TO '{whole}' (FORMAT parquet)")
    for _ in range(15):
        file.write_bytes(damaged(whole.read_bytes(), random))
        try_to_read(file)
