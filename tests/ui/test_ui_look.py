"""The look of every view in a real browser: it fits its width, axe finds nothing, the keyboard reaches everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from ui.page_actions import BUILT_IN, OWN, SIZES, SLOW_MS, choose, state
from ui.page_server import CHROMIUM

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "out" / "ui-screens"  # looked at by people; git ignores it
AXE = ROOT / "tools" / "js" / "node_modules" / "axe-core" / "axe.min.js"
IN_TIME = f"{OWN}&over=time&load=0.3&days=0.5&sleep=on"
VIEWS = {
    "start": "/",
    **BUILT_IN,
    "map-time": f"/map?{IN_TIME}&policy=ocs&other=fgd",
    "why-time": f"/why?{IN_TIME}&policy=ocs&task=900",
    "live": "/live",  # of a service with nodes asleep
}

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing"),
]


def open_view(tab, path):
    """Wait until a view has its numbers."""
    if path == "/":
        tab.locator("#start-command", has_text="wattpack compare").wait_for(state="attached")
    elif path.startswith("/map"):
        tab.locator("#map-sides canvas").nth(1).wait_for()
    elif path.startswith("/why"):
        tab.locator("#why-answer .first").wait_for()
    elif path.startswith("/ask"):
        tab.fill("#ask-come", "20xH100-8")
        tab.click("#ask-run")
        tab.locator("#ask-answer .first").first.wait_for()
    elif path == "/live":
        tab.locator("[aria-label^='Nodes that sleep'] tbody tr", has_text="asleep").first.wait_for()
    else:
        tab.locator("#plot path.line").first.wait_for()


@pytest.fixture(scope="module")
def finished(browser, server):
    """The address of a finished run of the built-in datacenter."""
    tab = browser.new_page()
    server.show(tab)
    choose(tab, "start-traces", "default")
    choose(tab, "start-policies", "fgd", "pwr", "ocs", "pwr:0.1+fgd:0.9", "bestfit")
    tab.select_option("#start-datacenter", "alibaba2023")
    tab.fill("#start-seeds", "2")
    tab.click("#start-run")
    tab.wait_for_url("**/runs/*", timeout=SLOW_MS)
    tab.locator("#run-state .state.done").wait_for(timeout=SLOW_MS)
    path = tab.url.removeprefix(server.url)
    tab.close()
    return path


@pytest.mark.parametrize("size", SIZES)
def test_every_view_fits_its_width_and_axe_finds_nothing(new_tab, finished, size):
    SHOTS.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, path in {**VIEWS, "run": finished}.items():
        tab = new_tab(path, size)
        open_view(tab, path)
        for scheme, checks in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):  # the rest is the same page
            tab.emulate_media(color_scheme=scheme)
            tab.screenshot(path=SHOTS / f"{name}-{size}-{scheme}.png", full_page=True)
            assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
            if AXE.is_file():
                problems = axe(tab, checks)
                found[name, scheme] = [f"{fault['id']}: {fault['nodes'][0]['html'][:160]}" for fault in problems]
        tab.close()
    if not AXE.is_file():
        pytest.skip("axe-core is not there (npm ci in tools/js): widths were checked, accessibility was not")
    assert {where: faults for where, faults in found.items() if faults} == {}


def axe(tab, checks):
    if not tab.evaluate("'axe' in window"):
        tab.evaluate(AXE.read_text())
    return tab.evaluate("checks => axe.run({ resultTypes: ['violations'], ...checks })", checks)["violations"]


def test_everything_can_be_reached_and_started_by_the_keyboard(new_tab, server):
    tab = new_tab()
    tab.locator("#start-traces input").first.wait_for(state="attached")
    seen = []
    for _ in range(70):
        tab.keyboard.press("Tab")
        seen.append(
            tab.evaluate(
                "document.activeElement.id || document.activeElement.value || document.activeElement.textContent"
            )
        )
        if seen[-1] == "start-run":
            break
    assert seen[0] == "Skip to the content"
    assert {
        "start-datacenter",
        "start-alpha",
        "start-alpha-add",
        "start-knob",
        "start-seeds",
        "start-profile",
        "start-bound",
    } <= set(seen)
    assert seen[-1] == "start-run"
    choose(tab, "start-traces", server.tasks)
    choose(tab, "start-policies", "fgd")
    tab.select_option("#start-datacenter", server.nodes)
    tab.locator("#start-run").press("Enter")
    tab.wait_for_url("**/runs/*")
    tab.locator("#run-cancel").press("Enter")
    state(tab, "cancelled")
