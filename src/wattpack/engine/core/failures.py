"""Why a task fits nowhere: nodes counted by the condition that fails, kept only for classes of which a task has failed.

The filter by bits (columns.py) says that a node does not fit, not why.
"""

from __future__ import annotations

from wattpack.engine.core.scores import Scores
from wattpack.engine.core.state import CHANGES, State
from wattpack.jit import inner, step
from wattpack.model.fit import NO_CPU, VERDICTS, fits


@step
def failure_reason(state: State, scores: Scores, k: int) -> int:
    """Why a task of class `k` fits nowhere: of the nodes that have the GPUs for it, what most of them lack.

    Where no node has them, the last condition that any node reached (GPU, CPU model, GPU model).
    """
    count_refused(state, scores, k)
    refused = scores.failures[k].refused
    reason = NO_CPU
    for verdict in range(NO_CPU, len(VERDICTS)):
        if refused[verdict] > refused[reason]:
            reason = verdict
    while refused[reason] == 0 and reason > 1:
        reason -= 1
    return reason


@inner
def count_refused(state: State, scores: Scores, k: int) -> None:
    """Bring the counts of class `k` up to date: the nodes that changed since, or all."""
    failures = scores.failures[k]
    seen, now, ring = failures.seen, state.totals[CHANGES], len(state.changed)
    everything = seen < 0 or now - seen > ring
    for i in range(len(state.nodes) if everything else now - seen):
        n = i if everything else state.changed[(seen + i) % ring]
        if n < 0:  # it changes again further on
            continue
        verdict = fits(state.nodes[n], state.tasks[k])
        if seen >= 0:
            failures.refused[scores.verdict[k, n]] -= 1
        failures.refused[verdict] += 1
        scores.verdict[k, n] = verdict
    failures.seen = now
