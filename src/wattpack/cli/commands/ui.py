"""`wattpack ui`: a local page to look at."""

from __future__ import annotations

import os
from pathlib import Path

from wattpack.cli.options import note_power
from wattpack.cli.outputs import check_folder
from wattpack.cli.plugins import load_plugins
from wattpack.errors import UserError

MAX_PORT = 65_535
TOKEN = "WATTPACK_UI_TOKEN"


def ui_command(
    *,
    datacenter: list[str] | None = None,
    trace: list[str] | None = None,
    power: Path | None = None,
    results: list[Path] | None = None,
    live: str | None = None,
    out: Path = Path("wattpack-ui"),
    host: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    no_browser: bool = False,
    plugin: list[Path] | None = None,
    no_check: bool = False,
) -> None:
    """Open a page on this machine: compare policies, look at every GPU, ask why, ask what if.

    Parameters
    ----------
    datacenter
        CSV file of nodes that the page offers beside the built-in ones; may be given again.
    trace
        CSV file of tasks that the page offers beside the built-in ones; may be given again.
    power
        TOML file of your own GPUs, CPUs and node base power, laid over the profiles of the page (`wattpack power`).
    results
        Results folder of `wattpack compare` or `run` to look at; may be given again.
    live
        Address of a running `wattpack serve` to watch, for example http://127.0.0.1:8888; read-only.
    out
        Folder for the runs and uploads of the page.
    host
        Address to listen on; default: this machine alone. Any other needs --token or $WATTPACK_UI_TOKEN.
    port
        Port to listen on; default: a free one.
    token
        A secret that the page's address must carry, at least 8 letters; default: $WATTPACK_UI_TOKEN, or a new one.
    no_browser
        Only print the address.
    plugin
        Python file that registers policies of your own; may be given again.
    no_check
        Run plugins without checking their policies first (about a second each).
    """
    try:
        from wattpack.ui.app import new_desk
        from wattpack.ui.live import check_live
        from wattpack.ui.security import check_address, new_token
        from wattpack.ui.serving import open_browser, serve
    except ModuleNotFoundError as fault:
        raise UserError(f"ui needs {fault.name}: install wattpack[serve]") from None
    if not 0 <= port <= MAX_PORT:
        raise UserError(f"--port {port}, expected 0 (a free one) to {MAX_PORT}")
    token = token if token is not None else os.environ.get(TOKEN) or None
    check_address(host, token)
    if live is not None:
        check_live(live)
    check_folder(out, (), ())
    load_plugins(plugin or [], not no_check)
    desk = new_desk(out.absolute(), datacenter, trace, results, live or "", plugin, power)
    note_power(None, power)

    def started(address: str) -> None:
        print(f"wattpack: {address} (Ctrl-C ends it; runs are kept in {out})", flush=True)
        if not no_browser:
            open_browser(address, out.absolute())

    serve(desk, host, port, token or new_token(), started)
