"""Measured watts and shadow mode in Live, in a real browser; the Prometheus is real, its exporter is made up."""

from __future__ import annotations

import asyncio
import shutil
from urllib.request import urlopen

import pytest

from cli.files import write_nodes
from e2e.api import wait_until
from e2e.exporter import exporting
from e2e.processes import Processes, free_port
from ui.page_actions import SIZES, SLOW_MS, rows
from ui.page_server import CHROMIUM, LiveServer, PageServer
from ui.test_ui_look import AXE, SHOTS, axe
from wattpack.kube.run import run_measured

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing"),
]

# Two nodes of two GPUs each, as a DCGM exporter tells them.
WATTS = {"a": (61.5, 10.5), "b": (30.2, 9.0)}


def dcgm():
    name = "DCGM_FI_DEV_POWER_USAGE"
    lines = [
        f'{name}{{gpu="{gpu}",UUID="GPU-{node}{gpu}",modelName="Tesla T4",Hostname="{node}"}} {watts}'
        for node, both in WATTS.items()
        for gpu, watts in enumerate(both)
    ]
    return "\n".join([f"# TYPE {name} gauge", *lines, ""])


async def other_scheduler_places(live):
    """Two pods, half a GPU each: the first as FGD would, the second where it would not."""
    for name, node in (("p", "a"), ("q", "b")):
        for event, there in (("ADDED", {}), ("MODIFIED", {"node": node, "index": "0"})):
            live.service.change_pod(event, live.client.add_pod(name, **there))


@pytest.fixture
def measured(tmp_path):
    """A service in shadow mode that a Prometheus measures."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("no prometheus on this machine (Debian package prometheus)")

    def prepare(client):
        client.add_node("a")
        client.add_node("b")

    port, processes = free_port(), Processes(tmp_path)
    with exporting(dcgm) as exporter_port:
        config = tmp_path / "prometheus.yml"
        target = f"static_configs: [{{targets: ['127.0.0.1:{exporter_port}']}}]"
        config.write_text(f"global: {{scrape_interval: 1s}}\nscrape_configs: [{{job_name: gpus, {target}}}]\n")
        words = [program, f"--config.file={config}", f"--storage.tsdb.path={tmp_path / 'tsdb'}"]
        processes.start("prometheus", [*words, f"--web.listen-address=127.0.0.1:{port}"])
        live = LiveServer(prepare, mode="shadow", prometheus=f"http://127.0.0.1:{port}")
        live.wait(live.client.__aenter__())  # the session that asks Prometheus
        measuring = asyncio.run_coroutine_threadsafe(run_measured(live.service), live.loop)
        live.wait(other_scheduler_places(live))
        try:
            wait_until(lambda: live.service.power_errors, 90, "Prometheus has been asked with success")
            yield live
        finally:
            processes.end("prometheus")
            measuring.cancel()
            live.wait(live.client.__aexit__())
            live.stop()


def test_modelled_against_measured_watts_and_the_shadow_are_those_of_the_service(browser, measured, tmp_path):
    page = PageServer(tmp_path, "--datacenter", write_nodes(tmp_path), "--live", measured.url)
    try:
        tab = browser.new_page()
        tab.set_default_timeout(SLOW_MS)
        page.show(tab, "/live")
        tab.locator("[aria-label^='Modelled against measured']").wait_for()
        (shown,) = rows(tab, "[aria-label^='Modelled against measured']")
        (told,) = measured.service.power_errors
        # A T4 in use draws 70 W by the paper's profile, an idle one 10 W.
        assert (told["gpus"], told["modelled_w"], told["measured_w"]) == (4, 160.0, pytest.approx(111.2))
        error = f"{told['error_w_per_gpu']:+.1f}"
        assert shown == ["T4", "4", f"{told['measured_w']:.1f}", f"{told['modelled_w']:.1f}", error]
        with urlopen(f"{measured.url}/shadow", timeout=20) as answer:
            assert answer.status == 200
        shadow = measured.service.shadow.table()
        text = tab.locator("#live-answer h2:has-text('would have done') + p").inner_text()
        assert f"{shadow['same_node']} pods on the same node, {shadow['other_node']} on another" in text
        assert f"The cluster draws {shadow['cluster_w'] / 1000:.2f} kW" in text
        saving = float(text.rpartition(" % less")[0].rpartition(" ")[2])
        assert saving == pytest.approx(shadow["estimated_saving"] * 100, abs=0.051)
        assert rows(tab, "[aria-label^='Pods under the policy']") == [
            ["default/q", "b", "+165.0", "a", "+0.0", "other node"],
            ["default/p", "a", "+165.0", "a", "+165.0", "same"],
        ]
        SHOTS.mkdir(parents=True, exist_ok=True)
        for size, (width, height) in SIZES.items():
            tab.set_viewport_size({"width": width, "height": height})
            for scheme in ("light", "dark"):
                tab.emulate_media(color_scheme=scheme)
                tab.screenshot(path=SHOTS / f"live-measured-{size}-{scheme}.png", full_page=True)
                assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
                if AXE.is_file():
                    assert [fault["id"] for fault in axe(tab, {})] == []
        tab.close()
    finally:
        assert page.stop() == 0
