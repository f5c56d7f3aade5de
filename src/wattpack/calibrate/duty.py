"""A GPU kept busy for a share of the time, or on a share of its multiprocessors, by a thread of its own."""

from __future__ import annotations

import math
import threading
import time
from typing import Protocol

from wattpack.calibrate.work import Work, open_work
from wattpack.errors import RunError, one_line

PERIOD_S = 0.05  # of busy and idle together: as short as pieces of work of some milliseconds allow
WARM_UP_PIECES = 20


class Load(Protocol):
    """What the sweep asks of a load."""

    name: str
    picks_multiprocessors: bool

    def open(self) -> None:
        """Make the context and let it idle."""

    def start(self, time_share: float, multiprocessor_share: float) -> float:
        """Start to work; the share of the multiprocessors that is really occupied."""

    def busy_s(self) -> float:
        """Seconds for which the GPU has been busy since `start`."""

    def stop(self) -> None: ...

    def close(self) -> None: ...


class DutyCycle:
    """Work in periods: busy for a share of each, then idle."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.name = names[0]
        self.picks_multiprocessors = False
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._busy_s = 0.0
        self._fault: BaseException | None = None

    def open(self) -> None:
        self._work = open_work(self._names)
        self.name = self._work.name
        self.picks_multiprocessors = self._work.picks_multiprocessors
        self._piece_s = _piece_seconds(self._work)

    def start(self, time_share: float, multiprocessor_share: float) -> float:
        most = self._work.multiprocessors
        taken = max(1, round(multiprocessor_share * most))
        occupied = getattr(self._work, "occupied", None)
        share = occupied(taken) / most if occupied is not None else 1.0
        self._ended.clear()
        self._busy_s = 0.0
        self._thread = threading.Thread(target=self._keep_busy, args=(time_share, taken), daemon=True)
        self._thread.start()
        return share

    def busy_s(self) -> float:
        if self._fault is not None:
            raise RunError(f"{self.name}: {one_line(self._fault)}")
        return self._busy_s

    def stop(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self.busy_s()

    def close(self) -> None:
        self._work.close()

    def _keep_busy(self, share: float, multiprocessors: int) -> None:
        """Pieces are queued and waited for together: waiting for each would leave a gap after each."""
        pieces = max(1, math.floor(share * PERIOD_S / self._piece_s))
        try:
            while not self._ended.is_set():
                begun = time.perf_counter()
                for _ in range(pieces):
                    self._work.launch(multiprocessors)
                self._work.wait()
                busy = time.perf_counter() - begun
                self._busy_s += busy
                if share < 1:
                    time.sleep(busy * (1 - share) / share)
        except Exception as fault:  # of a library for GPUs; told by the main thread
            self._fault = fault


def _piece_seconds(work: Work) -> float:
    """How long one piece takes, warm."""
    for attempt in range(2):
        begun = time.perf_counter()
        for _ in range(WARM_UP_PIECES):
            work.launch(work.multiprocessors or 1)
        work.wait()
        if attempt == 1:
            return max((time.perf_counter() - begun) / WARM_UP_PIECES, 1e-6)
    raise AssertionError
