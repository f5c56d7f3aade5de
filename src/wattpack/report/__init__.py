"""How it looks: figures, the table in the terminal, one offline HTML page. Reads curves; runs nothing."""

from __future__ import annotations

# Results: curves by (trace, policy), what every function of this room draws, prints or writes.
# BOUND: no policy but a limit, drawn like one, never called the best.
from wattpack.experiments.summary import BASELINE, BOUND, Results

__all__ = ["BASELINE", "BOUND", "Results"]
