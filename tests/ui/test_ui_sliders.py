"""The sliders and boxes of the form in a real browser, from click to number: the number is the command line's."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from ui.page_actions import choose, rows, slide, state
from ui.page_server import CHROMIUM
from wattpack.cli import main

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing"),
]
ALPHA, KNOB = "pwr:0.17+fgd:0.83", "ocs@0.25"


def test_alpha_and_knob_give_the_numbers_of_the_same_policies_on_the_command_line(new_tab, server, tmp_path):
    tab = new_tab()
    choose(tab, "start-traces", server.tasks)
    choose(tab, "start-policies", "fgd")
    tab.select_option("#start-datacenter", server.nodes)
    tab.select_option("#start-against", "fgd")
    tab.fill("#start-seeds", "2")
    slide(tab, "#start-alpha", 7)
    assert tab.locator("#start-alpha-value").inner_text() == "0.17"
    tab.click("#start-alpha-add")
    slide(tab, "#start-knob", -3)
    assert tab.locator("#start-knob-value").inner_text() == "0.25"
    tab.click("#start-knob-add")
    tab.click("#start-run")
    tab.wait_for_url("**/runs/*")
    state(tab, "done")
    own = tmp_path / "own"
    words = ["compare", "--datacenter", server.nodes, "--trace", server.tasks, "--seeds", "2", "--no-bound"]
    words += ["--against", "fgd"]
    main([*words, "--policy", "fgd", "--policy", ALPHA, "--policy", KNOB, "--out", str(own)])
    with (own / "summary.csv").open() as file:
        summary = {(row["policy"], float(row["load"])): row for row in csv.DictReader(file)}
    for policy in (ALPHA, KNOB):
        shown = tab.locator("#tables tbody tr", has_text=policy).inner_text()
        assert f"{float(summary[policy, 0.8]['eopc_w']) / 1000:.1f}" in shown
        assert f"--policy {policy}" in tab.locator("#run-command").text_content()
    with tab.expect_download() as loaded:
        tab.click("#run-files a:has-text('summary.csv')")
    assert Path(loaded.value.path()).read_bytes() == (own / "summary.csv").read_bytes()
    report = server.folder / "out" / tab.url.rpartition("/")[2] / "report.html"
    assert parts(report) == parts(own / "report.html")


def parts(report):
    """A report without the command that wrote it, when that was, and how long it took."""
    own = re.compile(r"dd>wattpack compare|dd>\d{4}-\d\d-\d\d \d\d:\d\d UTC|.* runs done in ", re.DOTALL)
    found = report.read_text().split("<")
    kept = [part for part in found if not own.match(part)]
    assert len(kept) == len(found) - 3
    return kept


def test_load_sleep_price_and_profile_of_simulate_give_the_numbers_of_the_command_line(new_tab, server, tmp_path):
    tab = new_tab()
    tab.get_by_text("Simulate in time").click()
    choose(tab, "start-traces", "default")
    choose(tab, "start-policies", "fgd", "ocs")
    tab.select_option("#start-datacenter", server.nodes)
    tab.fill("#start-seeds", "1")
    tab.fill("#start-days", "0.3")
    slide(tab, "#start-load", -8)
    assert tab.locator("#start-load-value").inner_text() == "0.30"
    tab.check("#start-sleep")
    tab.fill("#start-price", "0.21 EUR")
    tab.select_option("#start-profile", "linear")
    tab.click("#start-run")
    tab.wait_for_url("**/runs/*")
    state(tab, "done")
    own = tmp_path / "own"
    words = ["simulate", "--datacenter", server.nodes, "--policy", "fgd", "--policy", "ocs", "--seeds", "1"]
    words += ["--load", "0.3", "--days", "0.3", "--sleep", "on", "--no-bound", "--price", "0.21 EUR"]
    main([*words, "--profile", "linear", "--out", str(own)])
    with (own / "time.csv").open() as file:
        by_policy = {row["policy"]: row for row in csv.DictReader(file)}
    shown = {row[0].split()[0]: " ".join(row) for row in rows(tab, "#tables table")}
    for policy in ("fgd", "ocs"):
        assert f"{float(by_policy[policy]['kwh']):,.3f}" in shown[policy], (shown, by_policy[policy])
    with tab.expect_download() as loaded:
        tab.click("#run-files a:has-text('time.csv')")
    assert Path(loaded.value.path()).read_bytes() == (own / "time.csv").read_bytes()
