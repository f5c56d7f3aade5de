"""Random: 100 for one feasible node drawn at random, 0 for the rest; a random GPU that fits.

The draw is made by the normaliser, which sees the feasible nodes of the decision; the score itself is 0.
"""

from __future__ import annotations

from typing import Any

from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU, Normalise, Pick, Policy


@kernel
def score(node: Any, task: Any, world: Any, params: Any, memory: Any, terms: Any) -> int:
    terms[0] = 0
    return ANY_GPU


RANDOM = Policy("random", "any node that fits", score, normalise=Normalise.DRAW, pick=Pick.RANDOM)
