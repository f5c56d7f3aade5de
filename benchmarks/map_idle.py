"""What the page costs while nobody touches it, by view: the page's own work, all of the browser, and the server.

The page's own work is the time of tasks on its main thread (CDP Performance.getMetrics). The browser as a whole has
work of its own, which the blank page shows. Live watches a service with the 1,213 nodes of the built-in datacenter,
which is asked every few seconds.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from wattpack.datasets import alibaba2023

ROOT = Path(__file__).parents[1]
IDLE_S = 10.0
SETTLE_S = 3.0  # after a view has its numbers
OWN = "datacenter=alibaba2023&trace=default"
# name -> address, and what is there when the view is ready
VIEWS = {
    "compare": ("/", "#start-traces input"),
    "map": (f"/map?{OWN}&policy=fgd&other=ocs", "#map-sides canvas"),
    "map through time": (
        f"/map?{OWN}&policy=ocs&other=fgd&over=time&load=0.3&days=1&sleep=on",
        "#map-sides canvas",
    ),
    "why": (f"/why?{OWN}&policy=ocs&task=4000", "#why-answer .first"),
    "ask": (f"/ask?{OWN}", "#ask-run"),
    "live": ("/live", "#live-answer .tiles"),
    "blank": ("about:blank", "body"),  # last: a browser that has just started still works
}


def live_service() -> Any:
    """A `wattpack serve` on a cluster in memory; its CPU is this process's."""
    sys.path.insert(0, str(ROOT / "tests"))
    from ui.page_server import LiveServer

    nodes = alibaba2023.datacenter()

    def prepare(client: Any) -> None:
        for n, name in enumerate(nodes.names):
            client.add_node(name, int(nodes.gpus[n]), nodes.models[nodes.model[n]])

    return LiveServer(prepare)


def idle_rows(browser: Any, url: str, server: int) -> list[dict[str, Any]]:
    """A row a view: percent of one core."""
    rows = []
    system = browser.new_browser_cdp_session()
    for name, (path, ready) in VIEWS.items():
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(300_000)
        page.goto(path if path == "about:blank" else url + path)
        page.locator(ready).first.wait_for(state="attached")
        page.wait_for_timeout(SETTLE_S * 1000)
        own = page.context.new_cdp_session(page)
        own.send("Performance.enable")
        before, tasks, served, begun = browser_s(system), tasks_s(own), process_s(server), time.perf_counter()
        page.wait_for_timeout(IDLE_S * 1000)
        passed = time.perf_counter() - begun
        rows.append(
            {
                "view": name,
                "page_cpu_percent": round((tasks_s(own) - tasks) / passed * 100, 2),
                "browser_cpu_percent": round((browser_s(system) - before) / passed * 100, 2),
                "server_cpu_percent": round((process_s(server) - served) / passed * 100, 2),
            }
        )
        page.close()
    return rows


def browser_s(system: Any) -> float:
    """CPU seconds of all processes of the browser so far."""
    return sum(float(own["cpuTime"]) for own in system.send("SystemInfo.getProcessInfo")["processInfo"])


def tasks_s(page: Any) -> float:
    """Seconds that the main thread of a page has worked so far."""
    metrics = page.send("Performance.getMetrics")["metrics"]
    return next(float(row["value"]) for row in metrics if row["name"] == "TaskDuration")


def process_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
