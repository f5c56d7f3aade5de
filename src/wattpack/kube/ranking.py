"""The answer to `prioritize`: a score for every node asked about, as JSON.

1,213 objects through an encoder took longer than the decision itself; so each node has its answer for each score
written out ahead, and an answer is put together by looking up.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from wattpack.engine.explain import Explanation
from wattpack.kube.wire import ENCODER

TOP_SCORE = 10  # the largest score an extender may give
SCORES = TOP_SCORE + 1


class Ranking:
    """Answers for the nodes of one datacenter."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.pieces = [piece(name, score) for name in names for score in range(SCORES)]

    def answer(self, explanation: Explanation, numbers: list[int], unknown: list[str]) -> bytes:
        """Scores of the nodes of these numbers; 0 for names that are not known."""
        codes = (np.array(numbers, dtype=np.int64) * SCORES + scaled(explanation)[numbers]).tolist()
        if len(codes) > 1:
            found: tuple[bytes, ...] = itemgetter(*codes)(self.pieces)
        else:
            found = tuple(self.pieces[code] for code in codes)
        return b"[" + b",".join((*found, *(piece(name, 0) for name in unknown))) + b"]"

    @staticmethod
    def answer_unknown(names: list[str]) -> bytes:
        return b"[" + b",".join(piece(name, 0) for name in names) + b"]"


def piece(name: str, score: int) -> bytes:
    return ENCODER.encode({"Host": name, "Score": score})


def scaled(explanation: Explanation) -> Any:
    """int64[nodes]: 10 for the chosen node, 0 to 9 for the others that take part, 0 for the rest."""
    total, takes_part = explanation.total, explanation.takes_part
    scores = np.zeros(len(total), dtype=np.int64)
    if explanation.node < 0:
        return scores
    low, high = np.min(total, where=takes_part, initial=np.inf), np.max(total, where=takes_part, initial=-np.inf)
    if high > low:
        scores[takes_part] = (total[takes_part] - low) * (TOP_SCORE - 1) / (high - low)
    scores[explanation.node] = TOP_SCORE
    return scores
