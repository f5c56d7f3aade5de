"""The page's process when there are more connections than file descriptors."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from ui.page_server import PageServer

DESCRIPTORS, CONNECTIONS = 64, 100


@pytest.fixture
def small(tmp_path: Path) -> Iterator[PageServer]:
    """A page that may open only a few files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, before[1]))  # the process inherits it
    try:
        server = PageServer(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    yield server
    server.stop()


def test_more_connections_than_descriptors_keep_nobody_out_and_do_not_fill_the_log(
    small: PageServer, tmp_path: Path
) -> None:
    address = urlsplit(small.address)
    with ExitStack() as opened:
        for _ in range(CONNECTIONS):  # they ask for nothing, and stay
            opened.enter_context(socket.create_connection((address.hostname or "", address.port or 0), timeout=10))
        time.sleep(2.5)  # a loop that retries every second has done so twice
        with urlopen(small.address, timeout=10) as answer:
            assert answer.status == 200
    assert len((tmp_path / "log.txt").read_text().splitlines()) < 10
    with urlopen(small.address, timeout=10) as answer:
        assert answer.status == 200
