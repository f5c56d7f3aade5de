"""Node names in a request to node numbers, and the answer to `prioritize`: a score for each node, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.live.one_decision import TOP_SCORE, Choice
from wattpack.kube.extender_json import FALL_BACK, new_name_table, read_names, write_scores
from wattpack.kube.wire import ENCODER, ExtenderArgs, HostPriority, offered_names

SCORES = TOP_SCORE + 1


class Ranking:
    """Requests and answers about the nodes of one datacenter, by their numbers."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.index = {name: n for n, name in enumerate(names)}
        pieces = [piece(name, score) for name in names for score in range(SCORES)]
        self.table = new_name_table(names, pieces)
        self.numbers = np.zeros(len(names), dtype=np.int64)
        self.text = np.zeros(2 + len(names) * (1 + max(map(len, pieces), default=0)), dtype=np.uint8)

    def asked(self, args: ExtenderArgs) -> tuple[NDArray[np.int64], list[str]]:
        """Numbers of the nodes that a request names, and unknown names. The next request overwrites the numbers."""
        count = read_names(self.table, np.frombuffer(args.node_names, dtype=np.uint8), self.numbers)
        if count != FALL_BACK:
            return self.numbers[:count], []
        names = list(dict.fromkeys(offered_names(args)))
        known = [self.index[name] for name in names if name in self.index]
        return np.array(known, dtype=np.int64), [name for name in names if name not in self.index]

    def answer(self, choice: Choice, numbers: NDArray[np.int64], unknown: list[str]) -> bytes:
        """The scores of these nodes, and 0 for unknown names."""
        length = write_scores(self.table, numbers, choice.score, SCORES, self.text)
        known = self.text[:length].tobytes()
        if not unknown:
            return known
        return (
            b"[" + b",".join([*([known[1:-1]] if len(numbers) else []), *(piece(name, 0) for name in unknown)]) + b"]"
        )


def scores_json(scores: Mapping[str, int]) -> bytes:
    """The answer to `prioritize` for a few nodes by name."""
    return ENCODER.encode([HostPriority(name, score) for name, score in scores.items()])


def piece(name: str, score: int) -> bytes:
    return ENCODER.encode(HostPriority(name, score))
