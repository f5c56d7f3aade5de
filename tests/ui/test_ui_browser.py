"""Runs on the page in a real browser, from click to number: the number is the command line's."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from cli.files import write_nodes
from ui.page_actions import choose, rows, start_long, start_small, state
from ui.page_server import CHROMIUM, PageServer
from wattpack.cli import main

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing"),
]


def test_compare_from_click_to_number(new_tab, server, tmp_path):
    tab = new_tab()
    tab.select_option("#start-against", "fgd")
    start_small(tab, server, "fgd", "pwr")
    tab.wait_for_url("**/runs/*")
    state(tab, "done")
    own = tmp_path / "own"
    main(
        [
            "compare",
            "--datacenter",
            server.nodes,
            "--trace",
            server.tasks,
            "--policy",
            "pwr",
            "--seeds",
            "2",
            "--no-bound",
            "--against",
            "fgd",
            "--out",
            str(own),
        ]
    )
    with (own / "summary.csv").open() as file:
        summary = {(row["policy"], row["load"]): row for row in csv.DictReader(file)}
    # Pointed at load 0.5, the chart reads out the saving of the summary.
    tab.locator("#plot").focus()
    tab.keyboard.press("Home")
    for _ in range(5):
        tab.keyboard.press("Shift+ArrowRight")
    read = tab.locator("#readout").inner_text()
    assert "Load 0.50" in read
    load = next(load for policy, load in summary if policy == "pwr" and float(load) == 0.5)
    saving = float(summary["pwr", load]["saving"]) * 100
    assert f"{saving:.2f} %".replace("-", "−") in read
    power = float(
        summary["pwr", next(load for policy, load in summary if policy == "pwr" and float(load) == 0.8)]["eopc_w"]
    )
    assert f"{power / 1000:.1f}" in tab.locator("#tables tbody tr", has_text="pwr").inner_text()
    assert tab.locator("#run-command").text_content().startswith(f"wattpack compare --datacenter {server.nodes}")
    assert "wp.compare(" in tab.locator("#run-python").text_content()
    with tab.expect_download() as loaded:
        tab.click("#run-files a:has-text('summary.csv')")
    assert Path(loaded.value.path()).read_bytes() == (own / "summary.csv").read_bytes()
    for kind in ("PNG", "SVG", "PDF"):
        with tab.expect_download() as loaded:
            tab.click(f"#run-files a:has-text('figure, {kind}')")
        assert Path(loaded.value.path()).stat().st_size > 1000
    with tab.context.expect_page() as opened:
        tab.click("#run-files a:has-text('report.html')")
    opened.value.locator("#plot path.line").first.wait_for()
    opened.value.close()


def test_simulate_from_click_to_number(new_tab, server, tmp_path):
    tab = new_tab()
    tab.get_by_text("Simulate in time").click()
    tab.fill("#start-days", "0.05")
    choose(tab, "start-traces", "default")
    choose(tab, "start-policies", "fgd", "pwr")
    tab.select_option("#start-datacenter", server.nodes)
    tab.select_option("#start-carbon", "DEU")
    tab.fill("#start-seeds", "1")
    tab.click("#start-run")
    tab.wait_for_url("**/runs/*")
    state(tab, "done")
    own = tmp_path / "own"
    words = [
        "--datacenter",
        server.nodes,
        "--trace",
        "default",
        "--policy",
        "pwr",
        "--seeds",
        "1",
        "--load",
        "0.7",
        "--days",
        "0.05",
    ]
    main(["simulate", *words, "--carbon", "DEU", "--out", str(own)])
    with (own / "time.csv").open() as file:
        by_policy = {row["policy"]: row for row in csv.DictReader(file)}
    shown = {row[0].split()[0]: row for row in rows(tab, "#tables table")}
    for policy in ("fgd", "pwr"):
        assert f"{float(by_policy[policy]['kwh']):,.3f}" in " ".join(shown[policy]), (shown, by_policy[policy])
    assert tab.locator("#plot path.line").count() > 2
    for kind, start in (("PNG", b"\x89PNG"), ("SVG", b"<?xml"), ("PDF", b"%PDF")):
        with tab.expect_download() as loaded:
            tab.click(f"#run-files a:has-text('figure, {kind}')")
        assert Path(loaded.value.path()).read_bytes().startswith(start)


def test_curves_grow_while_runs_finish_and_cancel_ends_them(new_tab, server):
    tab = new_tab()
    start_long(tab)
    tab.locator("#plot path.line").first.wait_for()
    assert tab.locator("#run-state .state.running").count() == 1
    tab.click("#run-cancel")
    state(tab, "cancelled")
    done = tab.locator("#run-state").inner_text()
    assert 0 < int(done.split(" of ")[0].split()[-1]) < 800
    assert tab.locator("#tables tbody tr").count() >= 1  # finished runs are kept
    tab.click("#run-remove")
    tab.wait_for_url(server.url + "/")


def test_a_reload_in_the_middle_goes_on_following_and_two_tabs_see_the_same_end(new_tab):
    tab = new_tab()
    start_long(tab)
    tab.reload()
    tab.locator("#run-state .state.running").wait_for()
    other = new_tab("/runs/" + tab.url.rpartition("/")[2])
    other.locator("#plot path.line").first.wait_for()
    tab.click("#run-cancel")
    state(tab, "cancelled")
    state(other, "cancelled")
    other.goto(other.url.rpartition("/runs/")[0] + "/")
    other.locator("#start-runs .state.cancelled").first.wait_for()  # by its address, later too


def test_a_run_whose_folder_vanishes_says_so(new_tab, server):
    tab = new_tab()
    start_small(tab, server, "fgd", "pwr", seeds="1")
    tab.wait_for_url("**/runs/*")
    state(tab, "done")
    shutil.rmtree(server.folder / "out" / tab.url.rpartition("/")[2])
    tab.reload()
    state(tab, "gone")
    assert "the folder of this run is gone" in tab.locator("#fault").inner_text()


def test_a_bad_upload_has_the_line_of_the_command_line_and_a_good_one_can_be_run(new_tab, server, tmp_path, capsys):
    bad = tmp_path / "bad.csv"
    bad.write_text("sn,cpu_milli,memory_mib,gpu,model\nx,1,1,1,NoSuch\n")
    with pytest.raises(SystemExit):
        main(["compare", "--datacenter", str(bad), "--out", str(tmp_path / "own")])
    line = capsys.readouterr().err.removeprefix("wattpack: ").strip().replace(str(bad), "bad.csv")
    tab = new_tab()
    tab.locator("#start-traces input").first.wait_for(state="attached")
    tab.set_input_files("#start-nodes-file", bad)
    tab.locator("#fault:visible").wait_for()
    assert tab.locator("#fault").inner_text() == line
    new_tab.faults.clear()  # the browser notes the refused request
    tab.set_input_files("#start-nodes-file", server.nodes)
    tab.locator("#start-note", has_text="nodes.csv: 3 nodes").wait_for()
    assert tab.locator("#start-datacenter").input_value().endswith("/nodes.csv")
    assert tab.locator("#fault").is_hidden()


def test_without_the_server_the_page_says_so(new_tab, browser, tmp_path):
    own = PageServer(tmp_path, "--datacenter", write_nodes(tmp_path))
    tab = browser.new_page()
    own.show(tab)
    tab.locator("#start-traces input").first.wait_for(state="attached")
    assert own.stop() == 0
    tab.click("#start-run")
    tab.locator("#fault", has_text="does not answer; is `wattpack ui` still running?").wait_for()
    tab.close()
