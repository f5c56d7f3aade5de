"""sushy-emulator, whose machines take $POWER_DELAY_S to change their power instead of 1 to 11 s at random.

Run as a program by `emulator.py`; everything else of the emulator is as it comes.
"""

from __future__ import annotations

import os
import sys
import time

from sushy_tools.emulator import main
from sushy_tools.emulator.resources.systems import fakedriver


class FixedDelay:
    """Stands for the module `random` in the emulator: the change comes int(now) + randint(...) seconds from now."""

    @staticmethod
    def randint(low: int, high: int) -> float:
        return time.time() % 1 + float(os.environ["POWER_DELAY_S"])


fakedriver.random = FixedDelay
sys.exit(main.main())
