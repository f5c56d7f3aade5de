"""The answer to `prioritize`: a score for every node asked about, as JSON.

1,213 objects through an encoder took longer than the decision itself; so each node has its answer for each score
written out ahead, and an answer is put together by looking up.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from wattpack.engine.live import TOP_SCORE, Choice
from wattpack.kube.wire import ENCODER

SCORES = TOP_SCORE + 1


class Ranking:
    """Answers for the nodes of one datacenter."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.pieces = [piece(name, score) for name in names for score in range(SCORES)]

    def answer(self, choice: Choice, numbers: NDArray[np.int64], unknown: list[str]) -> bytes:
        """Scores of the nodes of these numbers; 0 for names that are not known."""
        codes = (numbers * SCORES + choice.score[numbers]).tolist()
        found = itemgetter(*codes)(self.pieces) if len(codes) > 1 else tuple(self.pieces[code] for code in codes)
        return b"[" + b",".join((*found, *(piece(name, 0) for name in unknown))) + b"]"

    @staticmethod
    def answer_unknown(names: list[str]) -> bytes:
        return b"[" + b",".join(piece(name, 0) for name in names) + b"]"


def piece(name: str, score: int) -> bytes:
    return ENCODER.encode({"Host": name, "Score": score})
