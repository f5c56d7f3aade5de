"""One runner for all tests of a file: its worker process lives on from case to case."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fuzz.run import Runner


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    found = Runner()
    yield found
    found.close()
