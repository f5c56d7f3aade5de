"""The command line: one file a command, imported when it is used. Nothing imports this room."""

from __future__ import annotations

import os
import sys

from cyclopts import App, CycloptsError

from wattpack import __version__
from wattpack.errors import RunError, UserError

app = App(
    name="wattpack",
    help="Power- and fragmentation-aware scheduling for GPU datacenters: what would a placement policy save?",
    version=__version__,
    help_format="plaintext",
)
# Lazy: the help of each command stands here, so that `wattpack --help` imports none of them.
app.command(
    "wattpack.cli.compare:compare_command", name="compare", help="Compare policies: savings and GRAR over load."
)
app.command(
    "wattpack.cli.replay:replay_command", name="replay", help="One run on given nodes and tasks, every decision."
)
app.command("wattpack.cli.explain:explain_command", name="explain", help="Why a task goes where it goes, node by node.")
app.command("wattpack.cli.policies:policies_command", name="policies", help="The policies, one line each.")


def main(arguments: list[str] | None = None) -> None:
    """Run a command. Exit codes: 0 done, 1 a run failed, 2 the input is wrong, 130 Ctrl-C."""
    try:
        app(arguments, exit_on_error=False, print_error=False)
    except UserError as fault:
        _leave(f"wattpack: {fault}", 2)
    except CycloptsError as fault:
        _leave(f"wattpack: {' '.join(str(fault).split())} (wattpack --help)", 2)
    except RunError as fault:
        _leave(f"wattpack: {fault}", 1)
    except KeyboardInterrupt:
        _leave("wattpack: stopped; finished runs are kept, the same command goes on from them", 130)
    except BrokenPipeError:  # the reader of our output has gone, as in `wattpack policies | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


def _leave(message: str, code: int) -> None:
    print(message, file=sys.stderr)
    sys.exit(code)
