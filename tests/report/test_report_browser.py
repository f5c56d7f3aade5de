"""The report in a real browser, from a file, at the width of a desk and of a phone."""

from pathlib import Path

import numpy as np
import pytest

from report.builders import PAPER_POLICIES, make_bound, make_curves, make_results
from wattpack.experiments.curves import Results, at
from wattpack.report.html import write_report
from wattpack.report.metrics import saving

CHROMIUM = Path("/usr/bin/chromium")
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WIDTHS = {"desk": (1280, 900), "phone": (390, 844)}

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing"),
]

CLAIMS = [
    {"id": "D1", "section": "savings, Default", "statement": "above 13 % " * 8, "paper": "0.80", "measured": "0.795",
     "verdict": "holds within tolerance", "why": ""},
    {"id": "D2", "section": "savings, Default", "statement": "above 5 %", "paper": "0.90", "measured": "0.7",
     "verdict": "differs", "why": "a long reason " * 12},
]  # fmt: skip


@pytest.fixture(scope="module")
def results():
    made = make_results(("default", "gpuspec33"), **PAPER_POLICIES)
    # A curve that moves: the saving grows by a tenth of the load.
    moving = made["default", "pwr"]
    moving.values["eopc_w"] *= 1 - 0.1 * np.linspace(0, 1.3, moving.values["eopc_w"].shape[1])
    made["default", "bound"] = make_bound()
    return made


@pytest.fixture(scope="module")
def report_url(results, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    made = {"Version": "0.1.0", "Command": "wattpack compare --trace " + "a_very_long_name" * 12}
    return write_report(path, results, made, CLAIMS, gpus=6212).as_uri()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as running:
        chromium = running.chromium.launch(executable_path=str(CHROMIUM), args=ARGS)
        yield chromium
        chromium.close()


@pytest.fixture(params=WIDTHS)
def page(request, browser, report_url):
    """The open report. Anything on the console, any error and any request but the file itself fails the test."""
    width, height = WIDTHS[request.param]
    opened = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    faults = []
    opened.on("console", lambda message: faults.append(message.text))
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("request", lambda asked: faults.append(asked.url) if asked.url not in (report_url, "data:,") else None)
    opened.goto(report_url)
    yield opened
    opened.close()
    assert faults == []


def hover(page, load):
    """Point at a load; the chart shows 0 to 1 between its margins of 52 and 12 units."""
    page.locator("#plot").scroll_into_view_if_needed()
    box = page.locator("#plot").bounding_box()
    across = page.evaluate("document.getElementById('plot').viewBox.baseVal.width")
    place = (52 + load * (across - 52 - 12)) / across * box["width"]
    page.mouse.move(box["x"] + place, box["y"] + box["height"] / 2)


def choose(page, measure):
    page.locator("#measures label").get_by_text(measure, exact=True).click()


def names(page):
    """First cells of the table that is shown."""
    return page.locator("#tables section.trace:visible tbody th").all_inner_texts()


def test_nothing_is_wider_than_the_page(page):
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    for measure in ("GRAR", "Fragmentation by reason"):
        choose(page, measure)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_pointing_at_the_chart_reads_out_every_curve_at_that_load(page, results):
    assert page.locator("#readout").is_hidden()
    hover(page, 0.5)
    text = page.locator("#readout").inner_text()
    assert "Load 0.50" in text
    for policy, shown in [("pwr", "PWR"), ("bestfit", "BestFit")]:
        value = saving(results, "default", policy)[at(0.5)] * 100
        row = page.locator("#readout tr", has=page.get_by_role("rowheader", name=shown, exact=True))
        assert f"{value:.2f} %" in row.inner_text()
    assert page.locator("#readout tr").count() == len(PAPER_POLICIES) + 2  # and fgd, and the bound


def test_the_arrow_keys_read_the_chart_too(page):
    page.locator("#plot").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "Load 0.52" in page.locator("#readout").inner_text()
    assert page.locator("#live").inner_text().startswith("Load 0.52: ")
    page.keyboard.press("Escape")
    assert page.locator("#readout").is_hidden()


def test_a_click_in_the_legend_hides_a_curve_and_another_brings_it_back(page):
    curves = page.locator("#plot path.line")
    everything = curves.count()
    entry = page.locator("#legend button", has_text="BestFit")
    entry.click()
    assert curves.count() == everything - 1
    assert entry.get_attribute("aria-pressed") == "false"
    hover(page, 0.5)
    assert "BestFit" not in page.locator("#readout").inner_text()
    entry.press("Enter")  # the focus stayed on it
    assert curves.count() == everything


def test_every_measure_is_drawn_and_named(page):
    for measure in ("Saving", "EOPC", "GRAR", "GPU allocated", "Fragmentation"):
        choose(page, measure)
        assert page.locator("#chart-title").inner_text().startswith(f"{measure} on Default")
        # The bound knows power and GRAR only.
        known = len(PAPER_POLICIES) + 1 + (measure in ("Saving", "EOPC", "GRAR"))
        assert page.locator("#plot path.line").count() == known
        assert all(
            page.locator("#plot path.line").evaluate_all("paths => paths.map((path) => path.getTotalLength() > 50)")
        )


def test_fragmentation_by_reason_is_stacked_for_the_chosen_policy(page):
    choose(page, "Fragmentation by reason")
    assert page.locator("#plot path.area").count() == 6
    page.locator("#policy").select_option(label="BestFit")
    assert "BestFit" in page.locator("#chart-title").inner_text()
    hover(page, 0.3)
    # 1 + 2 + ... + 6 = 21 GPUs times (1.3 - 0.3)
    total = page.locator("#readout tr", has=page.get_by_text("total")).inner_text()
    assert total.split()[-1] == "21"


def test_the_spread_can_be_switched_off(page):
    choose(page, "EOPC")
    assert page.locator("#plot path.band").count() == len(PAPER_POLICIES) + 1
    page.locator("#bands").uncheck()
    assert page.locator("#plot path.band").count() == 0


def test_another_trace_brings_its_curves_and_its_table(page):
    assert len(names(page)) == len(PAPER_POLICIES) + 2
    page.locator("#trace").select_option(label="Constrained-GPU 33 % (gpuspec33)")
    assert "Constrained-GPU 33 %" in page.locator("#chart-title").inner_text()
    assert len(names(page)) == len(PAPER_POLICIES) + 1
    assert page.locator("#tables section.trace:visible").count() == 1


def test_dragging_zooms_and_a_double_click_resets(page):
    page.locator("#plot").scroll_into_view_if_needed()
    hover(page, 0.4)
    page.mouse.down()
    hover(page, 0.6)
    page.mouse.up()
    assert float(page.locator("#from").input_value()) == pytest.approx(0.4, abs=0.02)
    assert float(page.locator("#to").input_value()) == pytest.approx(0.6, abs=0.02)
    page.locator("#plot").dblclick()
    assert (page.locator("#from").input_value(), page.locator("#to").input_value()) == ("0.00", "1.00")


def test_the_range_can_be_typed_and_chosen(page):
    page.locator("#from").fill("0.85")
    page.locator("#from").press("Enter")
    ticks = page.locator("#plot text").all_text_contents()
    assert "0.90" in ticks
    assert "0.50" not in ticks
    page.get_by_role("button", name="0–1.3").click()
    assert page.locator("#to").input_value() == "1.30"
    page.locator("#from").fill("1.29")  # less than two steps are left: not a range
    page.locator("#from").press("Enter")
    assert page.locator("#from").input_value() == "0.00"


def test_the_table_sorts_by_a_click_and_turns_round_by_another(page):
    before = names(page)
    assert before[0].startswith("fgd")
    grar = page.locator("#tables section.trace:visible thead th", has_text="GRAR")
    grar.get_by_role("button").click()
    assert grar.get_attribute("aria-sort") == "descending"
    assert names(page)[0].startswith("bound")  # 0.99, the most
    grar.get_by_role("button").click()
    assert grar.get_attribute("aria-sort") == "ascending"
    assert names(page)[0] == "pwr"
    policy = page.locator("#tables section.trace:visible thead th", has_text="Policy")
    policy.get_by_role("button").click()
    assert names(page) == sorted(names(page))


def test_the_page_follows_the_colour_scheme(page):
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    stroke = "getComputedStyle(document.querySelector('#plot path.line.heavy')).stroke"
    assert page.evaluate(stroke) == "rgb(0, 0, 0)"  # fgd
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    assert page.evaluate(stroke) == "rgb(245, 245, 245)"


def test_on_paper_all_tables_are_there_and_no_controls(page):
    page.emulate_media(media="print")
    assert page.locator("#tables section.trace:visible").count() == 2
    assert page.locator("#controls").is_hidden()


def test_a_report_without_script_still_tells_and_tabulates(browser, report_url):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report_url)
    assert page.locator("#tables section.trace:visible").count() == 2
    assert page.locator("#curves").is_hidden()
    context.close()


def test_names_with_markup_are_text_in_every_part_of_the_page(browser, tmp_path):
    evil = "<img src=x onerror=alert(1)>"
    results = Results({(evil, policy): make_curves(evil, policy, value) for policy, value in [("fgd", 0), (evil, 0.1)]})
    page = browser.new_page()
    opened = []
    page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
    page.goto(write_report(tmp_path / "report.html", results, {evil: evil}).as_uri())
    hover(page, 0.5)
    assert evil in page.locator("#readout").inner_text()
    assert evil in page.locator("#chart-title").inner_text()
    assert page.locator("img").count() == 0
    assert opened == []
    page.close()


def test_a_workload_that_ends_early_is_drawn_up_to_its_end(browser, tmp_path):
    page = browser.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(write_report(tmp_path / "report.html", make_results(reaches=0.3), {}).as_uri())
    assert page.locator("#to").input_value() == "0.30"
    assert page.locator("#ranges button").count() == 0
    assert faults == []
    page.close()
