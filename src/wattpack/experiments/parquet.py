"""A run file: the little of the Parquet format that a table of numbers with constant columns needs.

DuckDB reads these files (and reads them back here), but did not write them fast enough: 3.4 ms a run of 45, most of it
for looking at the columns and planning the query; this is 0.3 ms. It runs on the workers, so that whoever collects
the results of many only stores bytes, and the bytes do not depend on a library's version.

Columns are required, uncompressed, one row group: a column of numbers is one page of plain values, a constant column a
dictionary of one value and a run of its index. The numbers below are those of parquet-format's `parquet.thrift`.

The footer's metadata hold a checksum (`crc32`) of the whole file, taken with zeros in its own place: readers of Parquet
do not look at it, we do, so that a byte that changed on the disk does not change a result (10 us).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

MAGIC = b"PAR1"
INT64, DOUBLE, BYTE_ARRAY = 2, 5, 6  # physical types
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8  # encodings
DATA_PAGE, DICTIONARY_PAGE = 0, 2
REQUIRED, UTF8, UNCOMPRESSED = 0, 0, 0

WRITER = "wattpack"
CHECKSUM, NO_CHECKSUM = "crc32", "00000000"
AFTER_CHECKSUM = 1 + 2 + len(WRITER) + 1 + 4 + len(MAGIC)  # ends of two structs, the writer, length of the footer
AT_CHECKSUM = slice(-AFTER_CHECKSUM - len(NO_CHECKSUM), -AFTER_CHECKSUM)
# The key and the head of its value, which stand before the checksum in every file that has one.
BEFORE_CHECKSUM = CHECKSUM.encode() + bytes([1 << 4 | 8, len(NO_CHECKSUM)])

Constant = str | int | float
Value = tuple[int, bytes]  # of the footer and the page headers: its type in Thrift's compact protocol, and its bytes
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12


@dataclass(frozen=True)
class Column:
    """A column as it will stand in the file."""

    name: str
    kind: int
    dictionary: bytes  # page, empty without one
    data: bytes  # page


def encode(constants: Mapping[str, Constant], numbers: Mapping[str, NDArray[np.float64]]) -> bytes:
    """A Parquet file with the constants repeated in every row, then the columns of numbers, all of one length."""
    rows = len(next(iter(numbers.values())))
    columns = [_constant_column(name, value, rows) for name, value in constants.items()]
    columns += [_number_column(name, values) for name, values in numbers.items()]
    parts, chunks, at = [MAGIC], [], len(MAGIC)
    for column in columns:
        parts += [column.dictionary, column.data]
        chunks.append(_column_chunk(column.name, column.kind, len(column.dictionary), len(column.data), rows, at))
        at += len(column.dictionary) + len(column.data)
    size = at - len(MAGIC)
    group = _struct((1, _list(STRUCT, chunks)), (2, _int(size)), (3, _int(rows)))
    schema = [
        _struct((4, _text("run")), (5, _int(len(columns), I32))),
        *(_schema_element(c.name, c.kind) for c in columns),
    ]
    _, footer = _struct(
        (1, _int(1, I32)),
        (2, _list(STRUCT, schema)),
        (3, _int(rows)),
        (4, _list(STRUCT, [group])),
        (5, _list(STRUCT, [_struct((1, _text(CHECKSUM)), (2, _text(NO_CHECKSUM)))])),
        (6, _text(WRITER)),
    )
    data = bytearray(b"".join([*parts, footer, struct.pack("<I", len(footer)), MAGIC]))
    data[AT_CHECKSUM] = b"%08x" % zlib.crc32(data)
    return bytes(data)


def is_whole(start: bytes, end: bytes) -> bool:
    """Whether a file with these first and last four bytes was written to its end."""
    return start == MAGIC and end == MAGIC


def has_checksum(data: bytes) -> bool:
    """Whether a file was written with a checksum; those of earlier versions were not."""
    return data[: AT_CHECKSUM.start].endswith(BEFORE_CHECKSUM) and is_whole(data[:4], data[-4:])


def is_intact(data: bytes) -> bool:
    """Whether a file with a checksum is what was written, to the byte."""
    zeroed = bytearray(data)
    zeroed[AT_CHECKSUM] = NO_CHECKSUM.encode()
    return data[AT_CHECKSUM] == b"%08x" % zlib.crc32(zeroed)


def _number_column(name: str, values: NDArray[np.float64]) -> Column:
    body = np.ascontiguousarray(values, dtype="<f8").tobytes()
    return Column(name, DOUBLE, b"", _data_page(body, len(values), PLAIN))


def _constant_column(name: str, value: Constant, rows: int) -> Column:
    if isinstance(value, str):
        text = value.encode()
        kind, body = BYTE_ARRAY, struct.pack("<I", len(text)) + text
    elif isinstance(value, int):
        kind, body = INT64, struct.pack("<q", value)
    else:
        kind, body = DOUBLE, struct.pack("<d", value)
    header = _page_header(DICTIONARY_PAGE, len(body), 7, _struct((1, _int(1, I32)), (2, _int(PLAIN, I32))))
    # bits of an index (1: not every reader takes 0), then one run of `rows` times index 0
    indices = b"\x01" + _varint(rows << 1) + b"\x00"
    return Column(name, kind, header + body, _data_page(indices, rows, RLE_DICTIONARY))


def _data_page(body: bytes, rows: int, encoding: int) -> bytes:
    return _data_page_header(len(body), rows, encoding) + body


# The headers of all runs of an experiment are nearly the same: kept, they are a third of the work.
@lru_cache(256)
def _data_page_header(size: int, rows: int, encoding: int) -> bytes:
    own = _struct((1, _int(rows, I32)), (2, _int(encoding, I32)), (3, _int(RLE, I32)), (4, _int(RLE, I32)))
    return _page_header(DATA_PAGE, size, 5, own)


def _page_header(kind: int, size: int, field: int, own: Value) -> bytes:
    _, header = _struct((1, _int(kind, I32)), (2, _int(size, I32)), (3, _int(size, I32)), (field, own))
    return header


@lru_cache(256)
def _schema_element(name: str, kind: int) -> Value:
    fields = [(1, _int(kind, I32)), (3, _int(REQUIRED, I32)), (4, _text(name))]
    return _struct(*fields, *([(6, _int(UTF8, I32))] if kind == BYTE_ARRAY else []))


@lru_cache(4096)
def _column_chunk(name: str, kind: int, dictionary_size: int, data_size: int, rows: int, at: int) -> Value:
    encodings = (PLAIN, RLE, RLE_DICTIONARY) if dictionary_size else (PLAIN, RLE)
    fields = [
        (1, _int(kind, I32)),
        (2, _list(I32, [_int(encoding, I32) for encoding in encodings])),
        (3, _list(BINARY, [_text(name)])),
        (4, _int(UNCOMPRESSED, I32)),
        (5, _int(rows)),
        (6, _int(dictionary_size + data_size)),
        (7, _int(dictionary_size + data_size)),
        (9, _int(at + dictionary_size)),
        *([(11, _int(at))] if dictionary_size else []),
    ]
    return _struct((2, _int(at)), (3, _struct(*fields)))


def _int(value: int, kind: int = I64) -> Value:
    return kind, _varint(value << 1)  # zigzag; nothing here is negative


def _text(text: str) -> Value:
    data = text.encode()
    return BINARY, _varint(len(data)) + data


def _list(kind: int, values: list[Value]) -> Value:
    size = len(values)
    header = bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + _varint(size)
    return LIST, header + b"".join([data for _, data in values])


def _struct(*fields: tuple[int, Value]) -> Value:
    """Fields as (number, value), numbers ascending; each is written as the step from the one before."""
    parts, last = [], 0
    for number, (kind, data) in fields:
        parts += [bytes([number - last << 4 | kind]), data]
        last = number
    return STRUCT, b"".join(parts) + b"\0"


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
