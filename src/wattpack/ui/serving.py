"""The server of the page from start to Ctrl-C."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from html import escape
from pathlib import Path

from aiohttp import web

from wattpack.kube.listening import LimitedSite
from wattpack.ui.app import Desk, new_app

OPENED = "open.html"
CLOSE_S = 1.0  # followers of runs are not waited for longer


def serve(desk: Desk, host: str, port: int, token: str, started: Callable[[str], None]) -> None:
    """Serve until Ctrl-C, then end the process."""
    try:
        asyncio.run(serve_until_stopped(desk, host, port, token, started))
    finally:
        remove_opened(desk.runs.folder)
    sys.stdout.flush()
    os._exit(0)  # a kernel in a thread cannot be stopped, and the interpreter would wait for it


async def serve_until_stopped(desk: Desk, host: str, port: int, token: str, started: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `started` is told the address, with the token."""
    # What is no HTTP gets a 400 and no lines in the terminal; faults of our own are logged by `app.one_line`.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    runner = web.AppRunner(new_app(desk, host, token), access_log=None, shutdown_timeout=CLOSE_S)
    await runner.setup()
    try:
        await LimitedSite(runner, host, port).start()
        address = runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        started(f"http://{shown}:{address[1]}/?token={token}")
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, stop.set)
        await stop.wait()
    finally:
        await runner.cleanup()


def open_browser(address: str, folder: Path) -> None:
    """The user's browser, if there is one; the address is printed all the same.

    It opens a file that leads to the page: what a program is started with, its token included, every user can list.
    In the page's folder, not in /tmp: confined browsers have a /tmp of their own.
    """
    file = folder / OPENED
    with suppress(webbrowser.Error, OSError):
        folder.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:
            opened.write(f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">wattpack\n')
        webbrowser.open(file.as_uri())


def remove_opened(folder: Path) -> None:
    """The file that led to the page, and the folder if nothing else is in it."""
    with suppress(OSError):
        (folder / OPENED).unlink()
        folder.rmdir()
