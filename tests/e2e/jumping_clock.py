"""`wattpack` by a wall clock that is a day ahead for 3 s, a day behind for 3 s, and so on; monotonic time is as it is.

Run as a program in place of `python -m wattpack`.
"""

from __future__ import annotations

import datetime
import sys
import time

real_time, DAY_S, PERIOD_S = time.time, 86_400.0, 3.0
jumped: list[float] = []


def jumping_time() -> float:
    offset_s = DAY_S if int(real_time() / PERIOD_S) % 2 else -DAY_S
    if jumped[-1:] != [offset_s]:
        jumped.append(offset_s)
        print(f"the wall clock jumps: {offset_s:+g} s", file=sys.stderr, flush=True)
    return real_time() + offset_s


class JumpingDatetime(datetime.datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
        return datetime.datetime.fromtimestamp(time.time(), tz)


time.time = jumping_time
datetime.datetime = JumpingDatetime  # type: ignore[misc]

from wattpack.cli import main  # noqa: E402  # its modules take the clock from here on

main(sys.argv[1:])
