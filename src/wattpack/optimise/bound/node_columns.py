"""The patterns of whole nodes that are known, as columns of the LP: none twice, the least useful ones dropped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wattpack.optimise.bound.node_patterns import NodePattern

MOST_PATTERNS = 700  # with twice as many the LP gets slow: then only these are kept
LESS_W = 1e-6  # less is rounding

Pattern = tuple[int, NodePattern]  # with its node type


class NodeColumns:
    """Columns by number: the first ones are the empty nodes, one of each type, and stay."""

    def __init__(self, types: int, classes: int) -> None:
        self._types, self._place = types, dict[tuple[int, bytes], int]()
        self.type_of = np.zeros(0, dtype=np.int64)
        self.counts = np.zeros((0, classes), dtype=np.int64)
        self.gpu_w, self.socket_w = np.zeros(0), np.zeros(0)
        empty = NodePattern(np.zeros(classes, dtype=np.int64), 0.0, 0.0)
        self.add([(n, empty) for n in range(types)])

    def __len__(self) -> int:
        return len(self.type_of)

    @property
    def power_w(self) -> NDArray[np.float64]:
        return self.gpu_w + self.socket_w

    def unknown(self, patterns: Sequence[Pattern]) -> list[Pattern]:
        """Those that are new, or draw less than the column with the same tasks."""
        found = []
        for n, pattern in patterns:
            place = self._place.get((n, pattern.counts.tobytes()))
            if place is None or pattern.power_w < self.gpu_w[place] + self.socket_w[place] - LESS_W:
                found.append((n, pattern))
        return found

    def add(self, patterns: Sequence[Pattern]) -> None:
        new = dict[tuple[int, bytes], Pattern]()
        for n, pattern in self.unknown(patterns):
            key = n, pattern.counts.tobytes()
            if key in self._place:
                self.gpu_w[self._place[key]], self.socket_w[self._place[key]] = pattern.gpu_w, pattern.socket_w
            elif key not in new or pattern.power_w < new[key][1].power_w:
                new[key] = n, pattern
        if not new:
            return
        self._place |= {key: len(self) + place for place, key in enumerate(new)}
        self.type_of = np.append(self.type_of, [n for n, _ in new.values()])
        self.counts = np.concatenate([self.counts, [pattern.counts for _, pattern in new.values()]])
        self.gpu_w = np.append(self.gpu_w, [pattern.gpu_w for _, pattern in new.values()])
        self.socket_w = np.append(self.socket_w, [pattern.socket_w for _, pattern in new.values()])

    def drop(self, too_dear: NDArray[np.float64]) -> None:
        """too_dear: of the columns, by how much each would have to cost less to be used."""
        if len(self) <= 2 * MOST_PATTERNS:
            return
        kept = np.argsort(too_dear, kind="stable")[:MOST_PATTERNS]
        kept = np.union1d(np.arange(self._types), kept)
        self.type_of, self.counts = self.type_of[kept], self.counts[kept]
        self.gpu_w, self.socket_w = self.gpu_w[kept], self.socket_w[kept]
        keys = zip(self.type_of.tolist(), self.counts, strict=True)
        self._place = {(n, counts.tobytes()): place for place, (n, counts) in enumerate(keys)}
