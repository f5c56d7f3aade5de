"""A process that runs commands one after the other through `wattpack.cli.main`: a start costs half a second, a case
of three nodes milliseconds. Each request is a line of JSON on stdin, each answer a line on stdout.

Not a test: `run.py` starts it as a program, and starts another one when a case has killed it.
"""

from __future__ import annotations

import faulthandler
import io
import json
import logging
import os
import resource
import sys
import traceback
import warnings
from typing import Any

MEMORY_BYTES = 16 * 2**30  # a case that asks for more gets a MemoryError; without a limit it would take the machine


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    kept_stdout, kept_stderr = os.dup(1), os.dup(2)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    faulthandler.enable(os.fdopen(os.dup(2), "w"))
    for line in requests:
        request = json.loads(line)
        kept = dict(os.environ)
        for fd, file in ((1, request["stdout"]), (2, request["stderr"])):
            opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            os.dup2(opened, fd)
            os.close(opened)
        os.chdir(request["folder"])
        os.environ.update(request["environment"])
        code = run(request["words"], request["environment"].get("PYTHONIOENCODING", "utf-8"))
        os.chdir("/")
        os.environ.clear()
        os.environ.update(kept)
        os.dup2(kept_stdout, 1)
        os.dup2(kept_stderr, 2)
        answers.write(json.dumps({"code": code}).encode() + b"\n")
        answers.flush()


def run(words: list[str], encoding: str) -> int:
    """The exit code that the interpreter would end with, with all that it would print."""
    from wattpack.cli import main as wattpack
    from wattpack.policies import REGISTRY

    registered = dict(REGISTRY)
    modules = set(sys.modules)
    with warnings.catch_warnings():  # on leaving, "shown once" is forgotten: the next case is warned again
        sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb", closefd=False), encoding, write_through=False)
        sys.stderr = io.TextIOWrapper(
            os.fdopen(2, "wb", closefd=False), encoding, "backslashreplace", line_buffering=True
        )
        sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
        try:
            wattpack(words)
            code = 0
        except SystemExit as ended:
            code = exit_code(ended.code)
        except BaseException:
            traceback.print_exc()
            code = 1
        code = flushed(code)
    logging.getLogger().handlers.clear()  # those of `serve`, on a stderr that is no more
    REGISTRY.clear()
    REGISTRY.update(registered)
    for name in set(sys.modules) - modules:
        if name.startswith("wattpack_plugin_"):
            del sys.modules[name]
    return code


def exit_code(code: Any) -> int:
    if code is None or isinstance(code, int):
        return (code or 0) & 0xFF
    print(code, file=sys.stderr)
    return 1


def flushed(code: int) -> int:
    """At its end the interpreter flushes both; what cannot be written is told, with code 120."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        print("Exception ignored while flushing sys.stdout:", file=sys.stderr)
        traceback.print_exc()
        code = 120
    sys.stderr.flush()
    return code


if __name__ == "__main__":
    main()
