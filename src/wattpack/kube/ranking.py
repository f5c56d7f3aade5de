"""Which nodes a scheduler asks about, and the answer to `prioritize`: a score for each, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.live.one_decision import TOP_SCORE, Choice
from wattpack.kube.extender_json import NOT_UNDERSTOOD, new_names, read_names, write_scores
from wattpack.kube.wire import ENCODER, ExtenderArgs, HostPriority, offered_names

SCORES = TOP_SCORE + 1


class Ranking:
    """Questions and answers about the nodes of one datacenter."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.index = {name: n for n, name in enumerate(names)}
        pieces = [piece(name, score) for name in names for score in range(SCORES)]
        self.table = new_names(names, pieces)
        self.numbers = np.zeros(len(names), dtype=np.int64)
        self.text = np.zeros(2 + len(names) * (1 + max(map(len, pieces), default=0)), dtype=np.uint8)

    def asked(self, args: ExtenderArgs) -> tuple[NDArray[np.int64], list[str]]:
        """Numbers of the nodes that a request names, and names that are not known. Used again by the next request."""
        count = read_names(self.table, np.frombuffer(args.node_names, dtype=np.uint8), self.numbers)
        if count != NOT_UNDERSTOOD:
            return self.numbers[:count], []
        names = list(dict.fromkeys(offered_names(args)))
        known = [self.index[name] for name in names if name in self.index]
        return np.array(known, dtype=np.int64), [name for name in names if name not in self.index]

    def answer(self, choice: Choice, numbers: NDArray[np.int64], unknown: list[str]) -> bytes:
        """Scores of the nodes of these numbers; 0 for names that are not known."""
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
