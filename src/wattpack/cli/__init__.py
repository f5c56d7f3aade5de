"""The command line: one file a command, imported when it is used. Nothing imports this room."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from wattpack import __version__
from wattpack.errors import RunError, UserError

ABOUT = "Power- and fragmentation-aware scheduling for GPU datacenters: what would a placement policy save?"
# name -> (function, one line of help)
COMMANDS = {
    "compare": ("wattpack.cli.compare:compare_command", "Compare policies: savings and GRAR over load."),
    "run": ("wattpack.cli.run:run_command", "Run an experiment file: every list in it is an axis."),
    "paper": ("wattpack.cli.paper:paper_command", "The paper again: every figure, table and statement."),
    "bound": ("wattpack.cli.bound:bound_command", "How far any placement could go: most GPU served, least power."),
    "defrag": ("wattpack.cli.defrag:defrag_command", "Which tasks to move, best first, and what that brings."),
    "tune": ("wattpack.cli.tune:tune_command", "The best policy for your datacenter and trace, and how sure that is."),
    "replay": ("wattpack.cli.replay:replay_command", "One run on given nodes and tasks, every decision."),
    "explain": ("wattpack.cli.explain:explain_command", "Why a task goes where it goes, node by node."),
    "import": ("wattpack.cli.import_:import_command", "A Kubernetes cluster as files that every command reads."),
    "derive": (
        "wattpack.cli.derive:derive_command",
        "A variant of a trace: more multi-GPU, sharing, constrained tasks.",
    ),
    "serve": ("wattpack.cli.serve:serve_command", "A scheduler extender for Kubernetes: the same decisions, live."),
    "fit": ("wattpack.cli.fit:fit_command", "Will this pod fit a live cluster, where, and what does it cost?"),
    "policies": ("wattpack.cli.policies:policies_command", "The policies, one line each."),
}

# The command line as it was given, for the report.
given_words: ContextVar[tuple[str, ...]] = ContextVar("given_words", default=())


def new_app() -> Any:
    from cyclopts import App, Parameter  # 80 ms: not for `wattpack --help`

    plain = Parameter(negative="", converter=converted)  # no `--empty-trace` beside `--trace`
    app = App(name="wattpack", help=ABOUT, version=__version__, help_format="plaintext", default_parameter=plain)
    app.suppress_keyboard_interrupt = False  # `main` says what is kept
    for name, (function, line) in COMMANDS.items():
        app.command(function, name=name, help=line)
    return app


def converted(kind: Any, tokens: Sequence[Any]) -> Any:
    """What an option holds. cyclopts would run 3 seeds for `--seeds 2.9`, and 16 for `0x10`."""
    from cyclopts import convert

    for token in tokens if kind is int else ():
        if not re.fullmatch(r"[+-]?[0-9]+", token.value):
            raise UserError(f"{token.keyword or 'argument'} {token.value!r}, expected a whole number")
    return convert(kind, tokens)


def print_help() -> None:
    """The help of the whole program without loading any of it."""
    print(f"Usage: wattpack COMMAND\n\n{ABOUT}\n\nCommands:")
    for name, (_, line) in COMMANDS.items():
        print(f"  {name:<10} {line}")
    print("\nwattpack COMMAND --help tells the options of a command; wattpack --version the version.")


def main(arguments: list[str] | None = None) -> None:
    """Run a command. Exit codes: 0 done, 1 a run failed, 2 the input is wrong, 130 Ctrl-C."""
    words = sys.argv[1:] if arguments is None else arguments
    if words in ([], ["--help"], ["-h"], ["help"]):
        print_help()
        return
    if words == ["--version"]:
        print(__version__)
        return
    from cyclopts import CycloptsError

    given_words.set(tuple(words))
    try:
        app = new_app()
        app(words, exit_on_error=False, print_error=False, result_action="return_value")
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
