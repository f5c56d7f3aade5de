"""Random: 100 for one feasible node drawn at random, 0 for the rest; a random GPU that fits.

The draw is made by the normaliser, which sees the feasible nodes of the decision; the score itself is 0.
"""

from __future__ import annotations

from wattpack.jit import kernel
from wattpack.model.policy import ANY_GPU, Normalise, Pick, Policy
from wattpack.model.records import Floats, NodeRecord, TaskRecord, WorldRecord


@kernel
def score(node: NodeRecord, task: TaskRecord, world: WorldRecord, params: Floats, memory: Floats, terms: Floats) -> int:
    terms[0] = 0
    return ANY_GPU


RANDOM = Policy("random", "any node that fits", score, normalise=Normalise.DRAW, pick=Pick.RANDOM)
