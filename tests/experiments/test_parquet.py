"""Run files: DuckDB reads back what was written, to the bit."""

from pathlib import Path

import duckdb
import numpy as np
import pytest

from wattpack.experiments.parquet import encode, has_checksum, is_intact, is_whole

CONSTANTS = {"trace": "it's 50 % 'é'\n", "policy": "", "seed": 2**62, "up_to": 1.3, "zero": 0}


def test_numbers_come_back_to_the_bit_and_constants_stand_in_every_row(tmp_path: Path) -> None:
    numbers = {
        "load": np.arange(261) * 0.005,
        "odd": np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324] + [1 / 3] * 256),
        "strided": np.arange(522.0)[::2],
    }
    file = tmp_path / "run.parquet"
    file.write_bytes(encode(CONSTANTS, numbers))
    table = duckdb.connect().execute(f"SELECT * FROM '{file}'").fetchnumpy()
    assert list(table) == [*CONSTANTS, *numbers]
    for name, values in numbers.items():
        assert np.asarray(table[name]).tobytes() == np.ascontiguousarray(values).tobytes(), name
    for name, value in CONSTANTS.items():
        assert set(table[name].tolist()) == {value}, name


@pytest.mark.parametrize("rows", [1, 7, 8, 63, 64, 8191, 8192, 100_000])
def test_any_number_of_rows(tmp_path: Path, rows: int) -> None:
    file = tmp_path / "run.parquet"
    file.write_bytes(encode({"name": "x"}, {f"column{i}": np.arange(rows) + i / 2 for i in range(20)}))
    found = duckdb.connect().execute(f"SELECT count(*), sum(column19), min(name) FROM '{file}'").fetchone()
    assert found == (rows, rows * (rows - 1) / 2 + 9.5 * rows, "x")


def test_the_same_values_are_the_same_bytes() -> None:
    numbers = {"load": np.arange(261.0)}
    assert encode(CONSTANTS, numbers) == encode(dict(CONSTANTS), {"load": np.arange(261.0)})
    assert is_whole(encode(CONSTANTS, numbers)[:4], encode(CONSTANTS, numbers)[-4:])
    assert not is_whole(encode(CONSTANTS, numbers)[:4], encode(CONSTANTS, numbers)[:-1][-4:])


def test_a_run_file_has_a_checksum_that_duckdb_can_show(tmp_path: Path) -> None:
    file = tmp_path / "run.parquet"
    file.write_bytes(encode(CONSTANTS, {"load": np.arange(261.0)}))
    ((key, value),) = duckdb.connect().execute(f"SELECT key, value FROM parquet_kv_metadata('{file}')").fetchall()
    assert key == b"crc32"
    assert len(value) == 8
    assert has_checksum(file.read_bytes())
    assert is_intact(file.read_bytes())


def test_every_byte_of_a_run_file_counts() -> None:
    data = encode(CONSTANTS, {"load": np.arange(5.0), "eopc_w": np.full(5, 1 / 3)})
    for place in range(len(data)):
        changed = data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :]
        assert not (has_checksum(changed) and is_intact(changed)), place
    assert not any(has_checksum(data[:length]) and is_intact(data[:length]) for length in range(len(data)))
