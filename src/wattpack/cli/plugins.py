"""`--plugin FILE.py`: policies of the user's own, registered by importing the file they name, and checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wattpack.errors import RunError, UserError, one_line
from wattpack.experiments.plugins import import_file
from wattpack.policies import REGISTRY


def load_plugins(files: list[Path], check: bool = True) -> None:
    """Import each file, which calls `wattpack.register(...)`, and check what it has registered."""
    for file in files:
        before = dict(REGISTRY)
        import_file(file)
        if check:
            check_policies(file, [name for name, policy in REGISTRY.items() if before.get(name) is not policy])


def check_policies(file: Path, names: list[str]) -> None:
    """A fault ends the command before anything is run: a kernel may end the process, or decide by what is wrong."""
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
    """A fault of a run with plugins, such as a kernel that does not compile, is theirs: one line, no traceback."""
    try:
        yield
    except (UserError, RunError):
        raise
    except Exception as fault:
        if not files:
            raise
        raise UserError(f"{', '.join(map(str, files))}: {one_line(fault)}, expected policies that run") from fault
