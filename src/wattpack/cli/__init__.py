"""The command line: one file a command in `commands/`, imported when it is used. Nothing imports this room."""

from __future__ import annotations

import errno
import os
import sys
from contextvars import ContextVar

from wattpack import __version__
from wattpack.errors import RunError, UserError

TYPE_CHECKING = False  # `typing` takes 12 ms to import, in which Ctrl-C prints a traceback
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

INTERRUPTED = 130  # exit code
MIN_COLUMNS = 40
MAX_COLUMNS = 10_000
ABOUT = "Power- and fragmentation-aware scheduling for GPU datacenters: what would a placement policy save?"
ROOM = "wattpack.cli.commands"
# name -> (function, one line of help)
COMMANDS = {
    "compare": (f"{ROOM}.compare:compare_command", "Compare policies: savings and GRAR over load."),
    "simulate": (
        f"{ROOM}.simulate:simulate_command",
        "Tasks in time: what a week costs in kWh, money, carbon and waiting.",
    ),
    "plan": (f"{ROOM}.plan:plan_command", "The least number of nodes of a type that keeps the wait."),
    "run": (f"{ROOM}.run:run_command", "Run an experiment file: every list in it is an axis."),
    "paper": (f"{ROOM}.paper:paper_command", "The paper again: every figure, table and statement."),
    "bound": (
        f"{ROOM}.bound:bound_command",
        "How far any placement could go: most GPU served, least power.",
    ),
    "defrag": (f"{ROOM}.defrag:defrag_command", "Which tasks to move, best first, and what that brings."),
    "tune": (
        f"{ROOM}.tune:tune_command",
        "The best policy for your datacenter and trace, and how sure that is.",
    ),
    "replay": (f"{ROOM}.replay:replay_command", "One run on given nodes and tasks, every decision."),
    "explain": (f"{ROOM}.explain:explain_command", "Why a task goes where it goes, node by node."),
    "ui": (f"{ROOM}.ui:ui_command", "A local page to look at: compare, map, why, ask, live."),
    "import": (
        f"{ROOM}.import_:import_command",
        "A Kubernetes cluster as files that every command reads.",
    ),
    "import-trace": (
        f"{ROOM}.import_trace:import_trace_command",
        "A trace in a public format as a task file with times.",
    ),
    "derive": (
        f"{ROOM}.derive:derive_command",
        "A variant of a trace: more multi-GPU, sharing, constrained tasks.",
    ),
    "serve": (
        f"{ROOM}.serve:serve_command",
        "A scheduler extender for Kubernetes: the same decisions, live.",
    ),
    "sleep status": (f"{ROOM}.sleep_status:sleep_status_command", "Which nodes of a live cluster sleep, and why."),
    "sleep wake": (f"{ROOM}.sleep_wake:sleep_wake_command", "Wake nodes, and take wattpack's marks off them."),
    "sleep hold": (f"{ROOM}.sleep_hold:sleep_hold_command", "Hold nodes awake."),
    "fit": (f"{ROOM}.fit:fit_command", "Will this pod fit a live cluster, where, and what does it cost?"),
    "calibrate gpu": (
        f"{ROOM}.calibrate_gpu:calibrate_gpu_command",
        "The power curve of a GPU of this machine, for a power file.",
    ),
    "calibrate prometheus": (
        f"{ROOM}.calibrate_prometheus:calibrate_prometheus_command",
        "Power of GPU models from what a Prometheus with DCGM metrics recorded.",
    ),
    "new-policy": (
        f"{ROOM}.new_policy:new_policy_command",
        "A policy of your own to start from, with a test.",
    ),
    "power": (
        f"{ROOM}.power:power_command",
        "The watts of every GPU and CPU, and a power file for your own.",
    ),
    "datacenters": (
        f"{ROOM}.datacenters:datacenters_command",
        "The built-in datacenters: list, describe, edit, write as CSV.",
    ),
    "traces": (f"{ROOM}.traces:traces_command", "The built-in traces: list, write as CSV."),
    "policies": (f"{ROOM}.policies:policies_command", "The policies, one line each."),
}

# Commands of two words: the first word -> one line of help.
GROUPS = {
    "calibrate": "Watts of your own GPUs, as entries of a power file.",
    "sleep": "Nodes of a live cluster that sleep: who does, and waking them.",
}

# The command line as it was given, for the report.
given_words: ContextVar[tuple[str, ...]] = ContextVar("given_words", default=())


# Options that name what is written: an empty text would become the current folder.
OUTPUTS = ("--out", "--decisions", "--series", "--placements-out", "--tasks-out", "--readings", "--figure")


SERVICES = ("serve", "ui")

# Options that may stand alone: without a value they mean this one.
ALONE = {"--sleep": "on", "--consolidate": "on"}


def new_app() -> Any:
    from cyclopts import App, Parameter  # 80 ms: not for `wattpack --help`

    plain = Parameter(negative="", converter=converted)  # no `--empty-trace` beside `--trace`
    app = App(name="wattpack", help=ABOUT, version=__version__, help_format="plaintext", default_parameter=plain)
    app.suppress_keyboard_interrupt = False  # `main` says what is kept
    groups: dict[str, Any] = {}
    for name, (function, line) in COMMANDS.items():
        group, _, own = name.rpartition(" ")
        if group and group not in groups:
            groups[group] = App(name=group, help=GROUPS[group], default_parameter=plain)
            app.command(groups[group])
        groups.get(group, app).command(function, name=own, help=line)
    return app


def converted(kind: Any, tokens: Sequence[Any]) -> Any:
    """The value of an option. cyclopts alone would run 3 seeds for `--seeds 2.9`, and 16 for `0x10`."""
    import re

    from cyclopts import convert

    for token in tokens if kind is int else ():
        if not re.fullmatch(r"[+-]?[0-9]+", token.value):
            raise UserError(f"{token.keyword or 'argument'} {token.value!r}, expected a whole number")
    return convert(kind, tokens)


def print_help() -> None:
    """The help of the whole program without loading any of it."""
    print(f"Usage: wattpack COMMAND\n\n{ABOUT}\n\nCommands:")
    for name, (_, line) in COMMANDS.items():
        print(f"  {name:<20} {line}")
    print("\nwattpack COMMAND --help shows the options of a command; wattpack --version the version.")


def main(arguments: list[str] | None = None) -> None:
    """Run a command. Exit codes: 0 done, 1 a run failed or stdout ended, 2 the input is wrong, 130 Ctrl-C."""
    _fill_closed()
    if arguments is None:  # this is the program, not a call of it
        _end_at_ctrl_c()
    from wattpack.cli.streams import OutputEndedError, flush, standard_streams

    with standard_streams():
        code, message = _run(sys.argv[1:] if arguments is None else arguments)
        try:
            flush()
        except OutputEndedError as fault:
            code, message = code or 1, message or fault.message
        if code == INTERRUPTED and arguments is None:
            from wattpack.cli.interrupt import leave

            leave()
        if message:
            print(f"wattpack: {message}", file=sys.stderr)
    if code != 0:
        sys.exit(code)


def _fill_closed() -> None:
    """Open closed standard descriptors (`>&-`): otherwise the next file opened gets their number and our prints."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number


def _set_width() -> None:
    """Keep the width within limits: rich hangs or fails at 0 or 1 columns (`COLUMNS=0`), and fails at 10**30."""
    from shutil import get_terminal_size

    columns = get_terminal_size().columns
    if "COLUMNS" in os.environ or not MIN_COLUMNS <= columns <= MAX_COLUMNS:
        os.environ["COLUMNS"] = str(min(max(columns, MIN_COLUMNS), MAX_COLUMNS))


def _end_at_ctrl_c() -> None:
    try:
        from wattpack.cli.interrupt import install

        install()
    except KeyboardInterrupt:  # within the first milliseconds: there is nothing to keep
        os._exit(INTERRUPTED)


def _run(words: list[str]) -> tuple[int, str]:
    """Exit code, and the message for stderr."""
    from wattpack.cli.streams import OutputEndedError

    given_words.set(tuple(words))
    try:
        if words in ([], ["--help"], ["-h"], ["help"]):
            print_help()
        elif words == ["--version"]:
            print(__version__)
        else:
            return _run_command(words)
    except OutputEndedError as fault:  # commands print last: what they write is written by now
        return 1, fault.message
    except KeyboardInterrupt:
        from wattpack.cli.interrupt import STOPPED

        return INTERRUPTED, STOPPED
    return 0, ""


def _run_command(words: list[str]) -> tuple[int, str]:
    from contextlib import nullcontext

    from cyclopts import CycloptsError

    from wattpack.files import inputs_kept

    _set_width()
    try:
        app = new_app()
        # A service reads what it has written, like an upload of its page, as often as it is asked to.
        with nullcontext() if words[0] in SERVICES else inputs_kept():
            app(_with_paths(words), exit_on_error=False, print_error=False, result_action="return_value")
    except UserError as fault:
        return 2, str(fault)
    except CycloptsError as fault:
        return 2, f"{' '.join(str(fault).split())} (wattpack --help)"
    except RunError as fault:
        return 1, str(fault)
    except OSError as fault:  # a path of the user's, wherever it was first looked at
        if fault.errno not in (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EACCES) or fault.filename is None:
            raise
        return 2, f"{' '.join(str(fault.filename).split())}: {fault.strerror}, expected a path that can be used"
    except SystemExit as ended:
        return (ended.code or 0, "") if not isinstance(ended.code, str) else (1, ended.code)
    return 0, ""


def _with_paths(words: list[str]) -> list[str]:
    """The words with `~` as the shell would have it (it does not in quotes, nor in `--out=~/results`)."""
    taken = list(words)
    for place in reversed(range(len(words))):
        option, equals, value = words[place].partition("=")
        following = words[place + 1] if place + 1 < len(words) else None
        if option in OUTPUTS and (value if equals else following) == "":
            raise UserError(f"{option} '': empty, expected a path")
        if option in OUTPUTS and not equals and following == "-":  # the parser would take `-` for an option
            taken[place : place + 2] = [f"{option}=-"]
        if option in ALONE and (value == "" if equals else following is None or following.startswith("-")):
            taken[place] = f"{option}={ALONE[option]}"
    return [_expanded(word) for word in taken]


def _expanded(word: str) -> str:
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    if value != "~" and not value.startswith("~/"):
        return word
    from pathlib import Path

    try:
        return f"{option}{equals}{Path(value).expanduser()}"
    except RuntimeError:
        raise UserError(f"{word}: no home folder is known (HOME is not set), expected a path without ~") from None
