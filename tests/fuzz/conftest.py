"""One runner for all tests of a file: its worker process lives on from case to case."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fuzz.case import Case, Link
from fuzz.contract import check
from fuzz.results import NODES, TASKS
from fuzz.run import Runner


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    found = Runner()
    try:
        # First: were a device replaced by a file, cases with outputs like /dev/null would harm this machine (as root).
        assert_devices_stay(found)
        yield found
    finally:
        found.close()


def assert_devices_stay(runner: Runner) -> None:
    files = {"nodes.csv": NODES, "tasks.csv": TASKS, "link": Link("/dev/null")}
    words = ("replay", "--nodes", "nodes.csv", "--tasks", "tasks.csv", "--policy", "fgd", "--decisions", "link")
    check(runner, Case(words, files))
