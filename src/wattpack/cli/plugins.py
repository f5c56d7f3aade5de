"""`--plugin FILE.py`: policies of the user's own, registered by importing the file they name, and checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wattpack.errors import RunError, UserError, one_line
from wattpack.experiments.plugins import Plugin, import_file, read_plugins
from wattpack.policies import REGISTRY


def load_plugins(files: list[Path], check: bool = True) -> list[Plugin]:
    """Import each file, which calls `wattpack.register(...)`, and check the policies it registers.

    Returns the plugins with their text, so that nothing imports them here a second time and workers get the same text.
    """
    found: list[Plugin] = []
    for file in files:
        before = dict(REGISTRY)
        import_file(file)
        found += read_plugins([file])
        if check:
            check_policies(file, [name for name, policy in REGISTRY.items() if before.get(name) is not policy])
    return found


def check_policies(file: Path, names: list[str]) -> None:
    """A fault ends the command before anything runs: a faulty kernel may crash the process or give wrong results."""
    from wattpack.experiments.policy_check.check import check_policy  # with the engine: only where there is a plugin
    from wattpack.experiments.warm_up import warm_up
    from wattpack.jit import say_if_compiling

    say_if_compiling()
    warm_up()
    for name in names:
        faults = check_policy(name)
        if faults:
            raise UserError(f"{file}: policy {name}: {'; '.join(faults)} (--no-check runs it all the same)")


@contextmanager
def faults_of(files: list[Path]) -> Iterator[None]:
    """An error in a run with plugins, such as a kernel that does not compile, is reported as theirs, in one line."""
    try:
        yield
    except (UserError, RunError):
        raise
    except Exception as fault:
        if not files:
            raise
        raise UserError(f"{', '.join(map(str, files))}: {one_line(fault)}, expected policies that run") from fault
