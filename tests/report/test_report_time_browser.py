"""The report of runs in time in a real browser."""

import re
from pathlib import Path

import pytest

from report.test_report_browser import ARGS, CHROMIUM, WIDTHS
from report.test_report_time import ran as ran  # a fixture
from wattpack.report.time_page import write_time_page

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing"),
]


@pytest.fixture(params=WIDTHS)
def page(request, ran, tmp_path: Path):
    """The open report. Anything on the console, any error and any request but the file itself fails the test."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    url = write_time_page(tmp_path, *ran, {"command": "wattpack simulate"}).as_uri()
    width, height = WIDTHS[request.param]
    faults = []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=str(CHROMIUM), args=ARGS)
        opened = browser.new_page(viewport={"width": width, "height": height})
        opened.on("console", lambda message: faults.append(message.text))
        opened.on("pageerror", lambda error: faults.append(str(error)))
        opened.on("request", lambda asked: faults.append(asked.url) if asked.url not in (url, "data:,") else None)
        opened.goto(url)
        yield opened
        browser.close()
    assert faults == []


def point(page, share: float) -> None:
    page.locator("#plot").scroll_into_view_if_needed()
    box = page.locator("#plot").bounding_box()
    page.mouse.move(box["x"] + box["width"] * share, box["y"] + 60)


def test_pointing_reads_all_policies_and_signals_at_one_time_and_nothing_is_too_wide(page) -> None:
    assert page.locator("#readout").is_hidden()
    point(page, 0.5)
    text = page.locator("#readout").inner_text()
    assert re.search(r"day 1, 00:(3|4)\d", text)  # half of 95 minutes, less the margin on the left
    assert [word for word in ("fgd", "pwr", "budget", "carbon intensity", "price", "GPUs") if word not in text] == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_dragging_zooms_all_charts_and_a_double_click_shows_all_again(page) -> None:
    whole = page.locator("#shown-range").inner_text()
    point(page, 0.4)
    box = page.locator("#plot").bounding_box()
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 60)
    page.mouse.up()
    assert page.locator("#shown-range").inner_text() != whole
    page.locator("#plot").dblclick()
    assert page.locator("#shown-range").inner_text() == whole


def test_the_arrow_keys_read_the_charts_and_the_legend_hides_a_policy(page) -> None:
    page.locator("#plot").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#live").inner_text().startswith("day 1, ")
    page.locator("#legend button", has_text="pwr").click()
    page.locator("#plot").focus()
    page.keyboard.press("Home")
    assert "pwr" not in page.locator("#readout").inner_text()
