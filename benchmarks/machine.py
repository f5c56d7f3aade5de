"""What was measured on: a number without its machine says nothing."""

from __future__ import annotations

import os

from wattpack.experiments import provenance


def machine() -> dict[str, object]:
    load = [round(value, 2) for value in os.getloadavg()]  # of other work: a high one makes the numbers worth less
    priority = {"nice": nice} if (nice := os.nice(0)) else {}  # below 0: it ran before other work
    return {**provenance.machine(), **provenance.versions(), "load_average_at_start": load, **priority}
