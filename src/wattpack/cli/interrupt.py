"""Ctrl-C ends the program at once, whatever it is doing: exit code 130, one line, no temporary file left behind.

Python acts on a signal only when its main thread is back from C code, which in a kernel, a MILP or the compiler takes
up to a minute. So a thread waits for the signal's byte and ends the process itself: kernels and solvers release
Python's lock. Where runs are out on workers, the main thread closes those first; it has GRACE_S for that. A second
Ctrl-C does not wait.
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import sys

TYPE_CHECKING = False  # `typing` takes longer to import than all of this
if TYPE_CHECKING:
    from types import FrameType
    from typing import Never

GRACE_S = 1.2
CODE = 130
STOPPED = "stopped; finished runs are kept, the same command goes on from them"
SHOW_CURSOR = "\r\x1b[K\x1b[?25h"  # a progress bar hides it

_leaving = _thread.allocate_lock()


def install() -> None:
    """Call as early as possible. A process that ignores Ctrl-C (`nohup`) continues to ignore it."""
    if sys.platform == "win32" or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.signal(signal.SIGINT, _in_main_thread)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    _thread.start_new_thread(_watch, (reader,))


def _in_main_thread(number: int, frame: FrameType | None) -> None:
    """With workers running, unwind so that they are closed; otherwise `_watch` ends the process."""
    if _workers_are_out():
        raise KeyboardInterrupt


def _watch(reader: int) -> None:
    while _interrupts(os.read(reader, 1)) == 0:
        pass  # another signal
    if _workers_are_out():
        select.select([reader], [], [], GRACE_S)
    leave()


def _interrupts(data: bytes) -> int:
    return data.count(signal.SIGINT)


def _workers_are_out() -> bool:
    module = sys.modules.get("wattpack.experiments.executors.executor")  # not imported: nothing runs anywhere
    return module is not None and module.executors_open > 0


def leave() -> Never:
    """End the process now: not by way of the interpreter, which would wait for threads that are in kernels."""
    if _leaving.acquire(blocking=False):  # else the other thread is at it
        files = sys.modules.get("wattpack.files")
        if files is not None:
            files.remove_temporaries()
        shown = (SHOW_CURSOR if os.isatty(2) else "") + f"wattpack: {STOPPED}\n"
        try:  # noqa: SIM105, contextlib is one import more
            os.write(2, shown.encode())
        except OSError:
            pass  # nobody reads it
        os._exit(CODE)
    select.select([], [], [], GRACE_S)
    os._exit(CODE)
