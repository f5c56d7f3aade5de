"""The errors with a meaning of their own. Everything else that is raised is a bug and keeps its traceback."""


class UserError(Exception):
    """The user's input is wrong. The text is one line: where, what, what was expected. Exit code 2."""


class RunError(Exception):
    """A run failed for a reason that is not the user's input. The command line exits with 1."""
