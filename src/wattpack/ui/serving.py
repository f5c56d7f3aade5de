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

from aiohttp import web

from wattpack.errors import UserError
from wattpack.ui.app import Desk, new_app

CLOSE_S = 1.0  # followers of runs are not waited for longer


def serve(desk: Desk, host: str, port: int, token: str | None, started: Callable[[str], None]) -> None:
    """Serve until Ctrl-C, then end the process."""
    asyncio.run(serve_until_stopped(desk, host, port, token, started))
    sys.stdout.flush()
    os._exit(0)  # a kernel in a thread cannot be stopped, and the interpreter would wait for it


async def serve_until_stopped(
    desk: Desk, host: str, port: int, token: str | None, started: Callable[[str], None]
) -> None:
    """Serve until SIGINT or SIGTERM; `started` is told the address."""
    # What is no HTTP gets a 400 and no lines in the terminal; faults of our own are logged by `app.one_line`.
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
    runner = web.AppRunner(new_app(desk, host, token), access_log=None, shutdown_timeout=CLOSE_S)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, shutdown_timeout=CLOSE_S)
        try:
            await site.start()
        except OSError as fault:
            raise UserError(
                f"--host {host} --port {port}: {os.strerror(fault.errno or 0)}, expected an address and a free port"
            ) from None
        address = runner.addresses[0]
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        started(f"http://{shown}:{address[1]}/" + (f"?token={token}" if token else ""))
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, stop.set)
        await stop.wait()
    finally:
        await runner.cleanup()


def open_browser(address: str) -> None:
    """The user's browser, if there is one; the address is printed all the same."""
    with suppress(webbrowser.Error, OSError):
        webbrowser.open(address)
