"""`python -m wattpack.calibrate READINGS.csv`: measure where only Python and the NVIDIA driver are installed.

`wattpack calibrate gpu --again READINGS.csv` makes the entry of the power file of it, on any machine.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

from wattpack.calibrate.measure import LOADS, check_options, measure
from wattpack.calibrate.readings_file import COLUMNS
from wattpack.errors import RunError, UserError
from wattpack.files import say, write_whole


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m wattpack.calibrate", description=__doc__)
    parser.add_argument("readings", type=Path)
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--load", choices=LOADS, default="auto")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--shares", type=int, default=10)
    given = parser.parse_args()
    try:
        check_options(given.load, given.seconds, given.shares)
        found = measure(given.gpu, given.load, given.seconds, given.shares, say)

        def write(temporary: Path) -> None:
            with temporary.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows([COLUMNS, *found.rows()])

        write_whole(given.readings, write)
    except (UserError, RunError) as fault:
        say(str(fault))
        return 2 if isinstance(fault, UserError) else 1
    except KeyboardInterrupt:
        say("stopped, nothing written")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
