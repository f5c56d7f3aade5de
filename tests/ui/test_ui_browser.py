"""The page in a real browser, from click to number: the number is the command line's."""

from __future__ import annotations

import csv
import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

import wattpack as wp
from cli.files import write_nodes, write_tasks
from ui.page_server import ARGS, CHROMIUM, LiveServer, PageServer
from wattpack.cli import main

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "out" / "ui-screens"  # looked at by people; git ignores it
AXE = ROOT / "tools" / "js" / "node_modules" / "axe-core" / "axe.min.js"
SIZES = {"desk": (1280, 900), "phone": (390, 844)}
OWN = "datacenter=alibaba2023&trace=default"
BUILT_IN = {
    "/map": f"/map?{OWN}&policy=fgd&other=ocs",
    "/why": f"/why?{OWN}&task=4000&policy=ocs",
    "/ask": f"/ask?{OWN}",
}
VIEWS = ("/", *BUILT_IN.values(), "/live")
SLOW_MS = 60_000  # the first map on a machine compiles

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing"),
]


@pytest.fixture(scope="module")
def live():
    def prepare(client):
        for name in ("a", "b", "c"):
            client.add_node(name)
        client.add_pod("p")

    server = LiveServer(prepare)
    pod = server.client.pods["p"]
    asking = Request(
        f"{server.url}/filter",
        json.dumps({"Pod": pod, "NodeNames": ["a", "b", "c"]}).encode(),
        {"Content-Type": "application/json"},
    )
    with urlopen(asking, timeout=60) as answer:
        assert json.load(answer)["NodeNames"] == ["a"]
    yield server
    server.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory, live):
    folder = tmp_path_factory.mktemp("ui")
    nodes, tasks = write_nodes(folder), write_tasks(folder)
    running = PageServer(folder, "--datacenter", nodes, "--trace", tasks, "--live", live.url)
    running.nodes, running.tasks = nodes, tasks
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
        tab.goto(server.url + path)
        tabs.append(tab)
        return tab

    open_tab.faults = faults
    yield open_tab
    for tab in tabs:
        tab.close()
    assert faults == []


def choose(tab, group, *names):
    """Of a group of pills exactly these."""
    tab.locator(f"#{group} input").first.wait_for(state="attached")
    for label in tab.locator(f"#{group} label").all():
        box, wanted = label.locator("input"), label.locator("input").input_value() in names
        if box.is_checked() != wanted:
            label.click()


def start_small(tab, server, *policies, seeds="2"):
    """Fill the form for the small datacenter, and start."""
    choose(tab, "start-traces", server.tasks)
    choose(tab, "start-policies", *policies)
    tab.select_option("#start-datacenter", server.nodes)
    tab.fill("#start-seeds", seeds)
    tab.click("#start-run")


def start_long(tab):
    """A run that takes long enough to be interrupted."""
    choose(tab, "start-traces", "default")
    choose(tab, "start-policies", "fgd", "ocs")
    tab.select_option("#start-datacenter", "alibaba2023")
    tab.fill("#start-seeds", "400")
    tab.click("#start-run")
    tab.wait_for_url("**/runs/*")


def state(tab, text):
    tab.locator("#run-state .state", has_text=text).wait_for()


def rows(tab, selector):
    """The cells of a table, row by row."""
    return [
        [cell.strip() for cell in row.locator("th,td").all_inner_texts()]
        for row in tab.locator(selector).locator("tbody tr").all()
    ]


def test_compare_from_click_to_number(new_tab, server, tmp_path):
    tab = new_tab()
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


def test_the_map_has_the_numbers_of_the_run_at_every_moment(new_tab, server):
    tab = new_tab(BUILT_IN["/map"])
    tab.locator("#map-sides canvas").nth(1).wait_for()
    for frame in ("4000", "10", "8000"):
        tab.locator("#map-at").evaluate(
            "(slider, frame) => { slider.value = frame; slider.dispatchEvent(new Event('input')); }", frame
        )
        tab.locator("#map-when", has_text=f"{int(frame):,} tasks").wait_for()
        for place, policy in enumerate(("fgd", "ocs")):
            run = played(policy)
            text = tab.locator("#map-sides .unit").nth(place).inner_text()
            assert f"{run.power_w[int(frame) - 1] / 1000:,.1f} kW" in text
            assert f"{run.fragmentation_milli[int(frame) - 1] / 1000:.1f} fragmented" in text
    # The table is the same, added up by type.
    tab.get_by_text("The numbers of the map as a table").click()
    watts = sum(float(row[3]) for row in rows(tab, "#map-table"))
    assert watts == pytest.approx(played("fgd").power_w[7999] / 1000, abs=1)


RUNS: dict[str, Any] = {}


def played(policy):
    if policy not in RUNS:
        RUNS[policy] = wp.simulate("alibaba2023", "default", policy, seed=42)
    return RUNS[policy]


def test_the_map_is_read_by_pointer_and_by_keys_and_leads_to_why(new_tab, server):
    path = f"/map?datacenter={server.nodes}&trace={server.tasks}&policy=fgd&other=&order=file&at=7"
    tab = new_tab(path)
    canvas = tab.locator("#map-sides canvas")
    canvas.wait_for()
    assert canvas.count() == 1
    canvas.hover(position={"x": 3, "y": 23})
    tab.locator("#map-pointed", has_text="g2-a: 8 x G2").wait_for()
    canvas.focus()
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#map-spoken").inner_text().startswith("g2-b: 8 x G2")
    tab.keyboard.press("Enter")
    assert tab.locator("#map-node h2").inner_text() == "g2-b"
    tab.keyboard.press("ArrowLeft")
    tab.keyboard.press("Enter")
    link = tab.locator("#map-node a", has_text="eight")
    link.click()
    tab.wait_for_url("**/why?*")
    tab.locator("#why-answer .first", has_text="eight goes to g2-a").wait_for()


def test_every_colour_of_the_map_is_another_picture_and_play_moves_it(new_tab, server):
    tab = new_tab(f"/map?datacenter={server.nodes}&trace={server.tasks}&policy=fgd&other=&order=seed&seed=1&at=3")
    tab.locator("#map-sides canvas").wait_for()
    seen = set()
    for by in ("share in use", "watts", "owner", "fragmentation"):
        tab.locator("#view-map .pills span", has_text=by).click()
        seen.add(tab.locator("#map-sides canvas").evaluate("canvas => canvas.toDataURL()"))
    assert len(seen) == 4
    before = tab.locator("#map-when").inner_text()
    tab.click("#map-play")
    tab.wait_for_function("before => document.getElementById('map-when').textContent !== before", arg=before)
    tab.click("#map-play")
    assert tab.locator("#map-play").inner_text() == "Play"


def test_the_map_over_time_lets_tasks_leave(new_tab, server):
    tab = new_tab(f"/map?datacenter={server.nodes}&trace=default&policy=fgd&other=&over=time&load=0.8&days=0.1&seed=0")
    tab.locator("#map-when", has_text="day 1, ").wait_for()
    seen = []
    for frame in range(0, 1001, 100):
        tab.locator("#map-at").evaluate(
            "(slider, frame) => { slider.value = frame; slider.dispatchEvent(new Event('input')); }", str(frame)
        )
        tab.wait_for_function("frame => document.getElementById('map-at').value === String(frame)", arg=frame)
        tab.wait_for_timeout(60)
        seen.append(
            float(tab.locator("#map-sides .unit").inner_text().split(" GPUs")[0].split(", ")[1].split(" of")[0])
        )
    assert seen[0] == 0
    assert any(later < earlier for earlier, later in pairwise(seen))


def test_why_has_the_numbers_of_explain(new_tab, server, capsys):
    from urllib.parse import urlencode

    query = {
        "datacenter": server.nodes,
        "trace": server.tasks,
        "policy": "pwr:0.1+fgd:0.9",
        "seed": "",
        "task": "share-2",
    }
    tab = new_tab(f"/why?{urlencode(query)}")
    tab.locator("#why-answer .first").wait_for()
    main(
        [
            "explain",
            "--nodes",
            server.nodes,
            "--tasks",
            server.tasks,
            "--policy",
            "pwr:0.1+fgd:0.9",
            "--task",
            "share-2",
        ]
    )
    printed = capsys.readouterr().out
    scores = tab.locator("[aria-label='Nodes that fit, best first'] tbody tr")
    for row in scores.all():
        cells = [cell.replace("−", "-") for cell in row.locator("th,td").all_inner_texts()]
        name, numbers = cells[0].removesuffix(" (chosen)"), [float(cell) for cell in cells[2:-2]]
        line = next(line for line in printed.splitlines() if line.strip().split(" ")[0] == name)
        assert numbers == [float(part) for part in line.replace("<-", "").split("│")[1:]]
    assert tab.locator("#why-answer tr.chosen").count() == 2  # of the scores, and beside the other policies
    assert [row[0] for row in rows(tab, "#why-answer table >> nth=1")][1:] == ["FGD", "PWR", "BestFit"]
    tab.click("#why-later")
    tab.locator("#why-answer .first", has_text="whole-1 goes to").wait_for()


def test_the_terms_of_ocs_are_bars_with_their_values_in_a_table(new_tab):
    tab = new_tab(BUILT_IN["/why"])
    tab.locator("#why-answer svg.bars rect").first.wait_for()
    assert tab.locator("#why-answer svg.bars rect").count() >= 10
    assert tab.locator("[aria-label='Terms of ocs'] tbody tr").count() == 10


def test_ask_about_a_task_a_pod_and_a_list(new_tab, server):
    from urllib.parse import urlencode

    query = {"datacenter": server.nodes, "trace": server.tasks, "policy": "fgd", "seed": ""}
    tab = new_tab(f"/ask?{urlencode(query)}")
    tab.locator("#ask-load").evaluate(
        "slider => { slider.value = 0; slider.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    tab.click("#ask-run")
    run = wp.simulate(server.nodes, server.tasks, "fgd")
    tab.locator("#ask-answer .first", has_text=f"It fits: {run.node_name(0)}").wait_for()
    rise = run.power_w[0] - run.start[3:6].sum() / 1000
    assert f"+{rise:,.1f} W" in tab.locator("#ask-answer .first").inner_text()
    tab.fill("#ask-model", "H100")
    tab.fill("#ask-come", "2xH100-8")
    tab.click("#ask-run")
    tab.locator("#ask-answer .first", has_text="It fits none of 3 nodes").wait_for()
    tab.locator("#ask-answer .first", has_text="It fits: h100").wait_for()
    tab.get_by_text("a pod's YAML").click()
    tab.fill(
        "#ask-pod", "kind: Pod\nmetadata: {name: web}\nspec: {containers: [{resources: {limits: {nvidia.com/gpu: 1}}}]}"
    )
    tab.click("#ask-run")
    tab.locator("#ask-answer .note", has_text="pod web: ").first.wait_for()
    tab.get_by_text("a CSV of tasks").click()
    tab.fill("#ask-tasks", Path(server.tasks).read_text())
    tab.fill("#ask-come", "")
    tab.click("#ask-run")
    tab.locator("#ask-answer .first", has_text="6 of 7 tasks fit").wait_for()
    placed = [row[2] for row in rows(tab, "#ask-answer table >> nth=0")]
    assert placed == [run.node_name(i) or "nowhere" for i in range(len(run))]


def test_live_shows_what_the_service_says_and_changes_nothing(new_tab, live):
    tab = new_tab("/live")
    tab.locator("#live-answer .tiles").wait_for()
    before = json.dumps(live.service.state())
    tiles = tab.locator("#live-answer .tiles b").all_inner_texts()
    told = live.service.state()
    assert tiles[0] == f"{told['power_w'] / 1000:.2f} kW"
    assert tiles[2] == f"{told['fragmentation_gpus']:.2f}"
    (decision,) = live.service.latest()
    assert rows(tab, "[aria-label^='The last decisions']") == [
        [
            "default/p",
            "a",
            f"+{decision.watts:.1f}",
            f"{decision.fragmentation_gpus:+.2f}".replace("-", "−"),
            decision.reason,
        ]
    ]
    assert "mode choose" in tab.locator("#live-answer .note").first.inner_text()
    assert json.dumps(live.service.state()) == before
    assert tab.locator("#view-live button, #view-live input").count() == 0


def test_without_the_server_the_page_says_so(new_tab, browser, tmp_path):
    own = PageServer(tmp_path, "--datacenter", write_nodes(tmp_path))
    tab = browser.new_page()
    tab.goto(own.url)
    tab.locator("#start-traces input").first.wait_for(state="attached")
    assert own.stop() == 0
    tab.click("#start-run")
    tab.locator("#fault", has_text="does not answer; is `wattpack ui` still running?").wait_for()
    tab.close()


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
        tab.locator("#live-answer .tiles").wait_for()
    else:
        tab.locator("#plot path.line").first.wait_for()


@pytest.fixture(scope="module")
def finished(browser, server):
    """The address of a finished run of the built-in datacenter."""
    tab = browser.new_page()
    tab.goto(server.url)
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_every_view_fits_its_width_and_axe_finds_nothing(new_tab, finished, size, scheme):
    SHOTS.mkdir(parents=True, exist_ok=True)
    found = {}
    for path in (*VIEWS, finished):
        tab = new_tab(path, size, scheme)
        open_view(tab, path)
        name = "run" if path == finished else path.partition("?")[0].strip("/") or "start"
        tab.screenshot(path=SHOTS / f"{name}-{size}-{scheme}.png", full_page=True)
        assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
        if AXE.is_file():
            tab.evaluate(AXE.read_text())
            problems = tab.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
            found[name] = [f"{fault['id']}: {fault['nodes'][0]['html'][:160]}" for fault in problems]
    if not AXE.is_file():
        pytest.skip("axe-core is not there (npm ci in tools/js): widths were checked, accessibility was not")
    assert {name: faults for name, faults in found.items() if faults} == {}


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
    state(tab, "done")
