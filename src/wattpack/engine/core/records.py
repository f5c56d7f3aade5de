"""Types of numpy records as kernels see them, so that mypy finds a misspelt field. The dtypes are defined elsewhere.

Records of nodes and tasks belong to the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Record = TypeVar("Record", covariant=True)


class Records(Protocol[Record]):
    """An array of records; kernels read and write single ones."""

    def __getitem__(self, at: int) -> Record: ...
    def __iter__(self) -> Iterator[Record]: ...
    def __len__(self) -> int: ...


class RecordTable(Protocol[Record]):
    """An array of records with two dimensions."""

    shape: tuple[int, int]

    def __getitem__(self, at: tuple[int, int]) -> Record: ...


class Part(Protocol):
    """PART (plan.py)."""

    weight: int
    normalise: int
    pick: int
    terms_at: int
    terms_end: int
    params_at: int
    params_end: int
    memory_at: int
    memory_end: int


class Parts(Records[Part], Protocol):
    """PART records, and the columns that Python reads."""

    terms_at: NDArray[np.int64]
    terms_end: NDArray[np.int64]
    memory_end: NDArray[np.int64]


class ClassPlace(Protocol):
    """CLASS (columns.py)."""

    column: int
    word: int
    bit: int


class ColumnClasses(Protocol):
    """COLUMN (columns.py)."""

    like: int
    word: int
    mask: int
    classes: int


class ColumnState(Protocol):
    """COLUMN_STATE (score_cache.py)."""

    seen: int
    buckets: int
    in_use: int
    room: int
    free: int
    entries: int
    used: int
    overflow: int
    feasible: int


class Bucket(Protocol):
    """BUCKET (score_cache.py)."""

    hash: int
    fit: int
    nodes: int
    first: int


class Failures(Protocol):
    """FAILURES (score_cache.py)."""

    seen: int
    refused: Any  # int64[verdicts]
