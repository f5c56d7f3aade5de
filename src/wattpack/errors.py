"""The errors with a meaning of their own. Everything else that is raised is a bug and keeps its traceback."""


class OneLineError(Exception):
    """Its text is one line, also where a file name or what a library says has several."""

    def __str__(self) -> str:
        return " ".join(super().__str__().splitlines())


class UserError(OneLineError):
    """The user's input is wrong. The text is one line: where, what, what was expected. Exit code 2."""


class RunError(OneLineError):
    """A run failed for a reason that is not the user's input. The command line exits with 1."""
