"""The page in a browser: first paint, weight, idle CPU, and frames a second while the map's slider is dragged.

Chromium draws in software here (`--disable-gpu`), as on a machine without a GPU: a desktop is faster.
"""

from __future__ import annotations

import csv
import re
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.map_idle import idle_rows, live_service
from wattpack.datasets.sources import load_datacenter
from wattpack.ui.assets import index_page, names

CHROMIUM = "/usr/bin/chromium"
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
TOKEN = "benchmark-of-the-map"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
TIMES = 100  # the large datacenter has this many copies of every node
MOVES = 240  # of the mouse in one drag
LARGE_MS = 600_000

COUNT_FRAMES = """() => {
  window.frameTimes = [];
  window.moments = 0; // that were drawn
  new MutationObserver(() => { window.moments++; }).observe(document.getElementById("map-when"), { childList: true });
  const note = (now) => { window.frameTimes.push(now); window.counting = requestAnimationFrame(note); };
  window.counting = requestAnimationFrame(note);
}"""
STOP_COUNTING = "() => { cancelAnimationFrame(window.counting); return window.frameTimes; }"


def measure() -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as running:
        large = Path(folder) / "large.csv"
        write_nodes(large)
        live = live_service()
        command = [sys.executable, "-m", "wattpack", "ui", "--no-browser", "--out", f"{folder}/out", "--live", live.url]
        command += ["--token", TOKEN, "--datacenter", str(large)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            found = re.match(r"wattpack: (http://\S+?)/\?token=", server.stdout.readline())
            assert found is not None
            browser = running.chromium.launch(executable_path=CHROMIUM, args=ARGS)
            try:
                started = first_paint(browser, found[1])
                rows = [
                    map_row(browser, found[1], "alibaba2023", ""),
                    map_row(browser, found[1], "alibaba2023", "ocs"),
                    map_row(browser, found[1], str(large), ""),
                ]
                idle = idle_rows(browser, found[1], server.pid)
            finally:
                browser.close()
                live.stop()
                server.terminate()
                server.wait(30)
    weight = sum(map(len, names().values())) + len(index_page().encode())
    return {"page_kb": round(weight / 1000, 1), **started, "idle": idle, "rows": rows}


def write_nodes(file: Path) -> None:
    nodes = load_datacenter("alibaba2023").repeated(TIMES)
    columns = (nodes.names, nodes.cpu_milli, nodes.memory_mib, nodes.gpus, [nodes.models[m] for m in nodes.model])
    with file.open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(("sn", "cpu_milli", "memory_mib", "gpu", "model"))
        writer.writerows(zip(*columns, strict=True))


def first_paint(browser: Any, url: str) -> dict[str, float]:
    """Median over five fresh contexts."""
    paints = []
    for _ in range(5):
        context = browser.new_context(extra_http_headers=HEADERS)
        page = context.new_page()
        page.goto(url)
        page.locator("#start-traces input").first.wait_for(state="attached")
        script = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
        paints.append(page.evaluate(script))
        context.close()
    return {"first_paint_ms": round(statistics.median(paints), 1)}


def map_row(browser: Any, url: str, datacenter: str, other: str) -> dict[str, Any]:
    page = browser.new_page(extra_http_headers=HEADERS, viewport={"width": 1280, "height": 900})
    page.set_default_timeout(LARGE_MS)
    begun = time.perf_counter()
    page.goto(f"{url}/map?datacenter={datacenter}&trace=default&policy=fgd&other={other}")
    page.locator("#map-sides canvas").first.wait_for()
    page.locator("#map-when", has_text="load").wait_for()
    ready_s = time.perf_counter() - begun
    nodes = page.locator("#map-sides canvas").first.get_attribute("aria-label")
    box = page.locator("#map-at").bounding_box()
    y, left, width = box["y"] + box["height"] / 2, box["x"] + 8, box["width"] - 16
    page.mouse.move(left + width / 2, y)
    page.mouse.down()
    page.evaluate(COUNT_FRAMES)
    for move in range(MOVES):  # there and back, as a person looks for a moment
        page.mouse.move(left + width * (0.5 - 0.5 * ((move / 60) % 2 - 1) * (1 if (move // 120) % 2 else -1)), y)
    frames = page.evaluate(STOP_COUNTING)
    moments = page.evaluate("() => window.moments")
    page.mouse.up()
    gaps = [after - before for before, after in pairwise(frames)]
    page.close()
    return {
        "nodes": int(re.search(r"([0-9]+) nodes", nodes)[1]),  # type: ignore[index]
        "policies": 2 if other else 1,
        "ready_s": round(ready_s, 2),
        "moments_drawn": moments,
        "drag_s": round(sum(gaps) / 1000, 2),
        "frames_a_second": round(1000 / statistics.mean(gaps), 1),
        "frame_ms_median": round(statistics.median(gaps), 1),
        "frame_ms_p95": round(sorted(gaps)[int(len(gaps) * 0.95)], 1),
    }
