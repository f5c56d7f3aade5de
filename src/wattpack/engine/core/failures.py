"""Why a task fits nowhere: nodes counted by the condition that they fail, only for classes with a failed task.

The filter by bits (columns.py) says that a node does not fit, but not why.
"""

from __future__ import annotations

from wattpack.engine.core.score_cache import Scores
from wattpack.engine.core.state import CHANGES, State
from wattpack.jit import inner, step
from wattpack.model.fit import NO_CPU, VERDICTS, fits


@step
def failure_reason(state: State, scores: Scores, k: int) -> int:
    """Why a task of class `k` fits nowhere: what most of the nodes with enough GPUs for it lack.

    If no node has enough GPUs: the last condition that any node reached (GPU, pool, CPU model, GPU model).
    """
    count_refused(state, scores, k)
    refused = scores.cache.failures[k].refused
    reason = NO_CPU
    for verdict in range(NO_CPU, len(VERDICTS)):
        if refused[verdict] > refused[reason]:
            reason = verdict
    while refused[reason] == 0 and reason > 1:
        reason -= 1
    return reason


@inner
def count_refused(state: State, scores: Scores, k: int) -> None:
    """Update the counts of class `k`: from the nodes that changed since the last time, or from all."""
    failures = scores.cache.failures[k]
    seen, now, ring = failures.seen, state.totals[CHANGES], len(state.changed)
    everything = seen < 0 or now - seen > ring
    for i in range(len(state.nodes) if everything else now - seen):
        n = i if everything else state.changed[(seen + i) % ring]
        if n < 0:  # it changes again further on
            continue
        verdict = fits(state.nodes[n], state.tasks[k])
        if seen >= 0:
            failures.refused[scores.cache.verdict[k, n]] -= 1
        failures.refused[verdict] += 1
        scores.cache.verdict[k, n] = verdict
    failures.seen = now
