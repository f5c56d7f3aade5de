"""A page server, the service that it watches, and tabs of a real browser."""

from __future__ import annotations

import json
from urllib.request import Request, urlopen

import pytest

from cli.files import write_nodes, write_tasks, write_timed_tasks
from ui.page_actions import SIZES, SLOW_MS
from ui.page_server import ARGS, CHROMIUM, PageServer, SleepingServer


@pytest.fixture(scope="module")
def live():
    def prepare(world):
        for name in ("a", "b", "c"):
            world.add(name)
        world.api.add_pod("p")

    server = SleepingServer(prepare)
    pod = server.client.pods["p"]
    asking = Request(
        f"{server.url}/filter",
        json.dumps({"Pod": pod, "NodeNames": ["a", "b", "c"]}).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(asking, timeout=60) as answer:
        assert json.load(answer)["NodeNames"] == ["a"]
    server.wait(server.world.step())
    server.wait(server.world.step_until_asleep("b"))  # and c: both are empty for long
    yield server
    server.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory, live):
    folder = tmp_path_factory.mktemp("ui")
    nodes, tasks, timed = write_nodes(folder), write_tasks(folder), write_timed_tasks(folder)
    running = PageServer(folder, "--datacenter", nodes, "--trace", tasks, "--trace", timed, "--live", live.url)
    running.nodes, running.tasks, running.timed = nodes, tasks, timed
    yield running
    assert running.stop() == 0
    assert "Traceback" not in (folder / "log.txt").read_text()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=str(CHROMIUM), args=ARGS)
        yield chromium
        chromium.close()


@pytest.fixture
def new_tab(browser, server):
    """Opens tabs. Anything on the console, any error and any request to elsewhere fails the test."""
    tabs, faults = [], []

    def open_tab(path="/", size="desk", scheme="light"):
        width, height = SIZES[size]
        tab = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        tab.set_default_timeout(SLOW_MS)
        tab.on("console", lambda message: faults.append(message.text))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on(
            "request",
            lambda asked: None if asked.url.startswith((server.url, "data:", "blob:")) else faults.append(asked.url),
        )
        server.show(tab, path)
        tabs.append(tab)
        return tab

    open_tab.faults = faults
    yield open_tab
    for tab in tabs:
        tab.close()
    assert faults == []
