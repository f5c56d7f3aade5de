"""The errors with a meaning of their own. Everything else that is raised is a bug and keeps its traceback."""


class OneLineError(Exception):
    """Its text is one line, also where a file name or what a library says has several."""

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())


class UserError(OneLineError):
    """The user's input is wrong. The text is one line: where, what, what was expected. Exit code 2."""


class RunError(OneLineError):
    """A run failed for a reason that is not the user's input. The command line exits with 1."""


def one_line(fault: BaseException) -> str:
    """Any fault in one line, however many its text has: the kind, unless it is ours, and the first few lines."""
    lines = [line.strip() for line in str(fault).splitlines() if line.strip()]
    text = " ".join(lines[:4])[:600]
    if isinstance(fault, UserError | RunError):
        return text
    return f"{type(fault).__name__}: {text}" if text else type(fault).__name__
