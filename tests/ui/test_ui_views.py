"""Map, why, ask, live and the look of every view in a real browser; the numbers are the command line's."""

from __future__ import annotations

import csv
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wattpack as wp
from ui.page_actions import SIZES, SLOW_MS, choose, rows, state
from ui.page_server import CHROMIUM
from wattpack.cli import main
from wattpack.engine.moments.sleep_run import NODE_STATES
from wattpack.experiments.timed_run_files import read_series
from wattpack.kube.sleep.record import ASK, WAKE
from wattpack.kube.sleep.states import State
from wattpack.kube.sleep.status import status_of

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "out" / "ui-screens"  # looked at by people; git ignores it
AXE = ROOT / "tools" / "js" / "node_modules" / "axe-core" / "axe.min.js"
OWN = "datacenter=alibaba2023&trace=default"
BUILT_IN = {
    "/map": f"/map?{OWN}&policy=fgd&other=ocs",
    "/why": f"/why?{OWN}&task=4000&policy=ocs",
    "/ask": f"/ask?{OWN}",
}
VIEWS = ("/", *BUILT_IN.values(), "/live")

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing"),
]


def test_the_map_has_the_numbers_of_the_run_at_every_moment(new_tab, server):
    tab = new_tab(BUILT_IN["/map"])
    tab.locator("#map-sides canvas").nth(1).wait_for()
    for frame in ("4000", "10", "8000"):
        go_to(tab, frame)
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
        go_to(tab, frame)
        seen.append(
            float(tab.locator("#map-sides .unit").inner_text().split(" GPUs")[0].split(", ")[1].split(" of")[0])
        )
    assert seen[0] == 0
    assert any(later < earlier for earlier, later in pairwise(seen))


def test_nodes_asleep_are_dark_at_the_times_of_the_command_line(new_tab, server, tmp_path):
    tab = new_tab(f"/map?datacenter={server.nodes}&trace=default&policy=ocs&other=&over=time&load=0.2&days=0.5&seed=42")
    tab.locator("#map-when", has_text="day 1, ").wait_for()
    assert "asleep" not in tab.locator("#map-legend").inner_text()
    tab.select_option("#map-sleep", "on")
    tab.click("#map-show")
    tab.locator("#map-legend", has_text="asleep").wait_for()
    assert tab.url.count("sleep=on") == 1
    own, sample = tmp_path / "own", ["--sample", "43.2s"]  # as many samples as the map has frames
    words = ["simulate", "--datacenter", server.nodes, "--policy", "ocs", "--load", "0.2", "--days", "0.5"]
    main(
        [*words, "--sleep", "on", "--no-bound", *sample, "--out", str(own), "--tasks-out", str(tmp_path / "tasks.csv")]
    )
    series = read_series(next(own.glob("*/*.parquet")))
    with (tmp_path / "tasks.csv").open() as file:
        tasks = [(row["node"], row["start_s"], row["end_s"]) for row in csv.DictReader(file) if row["start_s"]]
    seen, turnings = set(), series.transition_nodes
    for frame in (*range(100, 1000, 100), *np.flatnonzero(turnings)[::5].tolist()):
        go_to(tab, frame)
        time_s, asleep, turning = series.time_s[frame], int(series.asleep_nodes[frame]), int(turnings[frame])
        text = tab.locator("#map-sides .unit").inner_text()
        assert f", {asleep} node{'' if asleep == 1 else 's'} asleep" in text
        at_work = {node for node, start_s, end_s in tasks if float(start_s) <= time_s < float(end_s)}
        states = node_states(tab, 3)
        counts = Counter(states.values())
        assert (counts["asleep"], counts["waking"] + counts["shutting down"]) == (asleep, turning)
        assert not at_work & {node for node, state in states.items() if state != "awake"}
        assert (tab.locator("#map-sides canvas").evaluate(DARK_PIXELS) > 0) == (asleep + turning > 0)
        seen |= counts.keys()
    assert seen == set(NODE_STATES)


DARK_PIXELS = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Uint32Array(data.buffer).filter((pixel) => pixel === 0xff0e0c0b).length;
}"""


def go_to(tab, frame):
    """Drag the slider of the map to a frame, and wait until it is drawn."""
    tab.locator("#map-at").evaluate(
        """(slider, frame) => new Promise((drawn) => {
            slider.value = frame;
            slider.dispatchEvent(new Event("input"));
            requestAnimationFrame(() => requestAnimationFrame(drawn));
        })""",
        str(frame),
    )


def node_states(tab, nodes):
    """The state of each node, as the arrow keys read it from the map."""
    found = {}
    canvas = tab.locator("#map-sides canvas")
    canvas.press("Escape")
    for _ in range(nodes):
        canvas.press("ArrowRight")
        name, _, text = tab.locator("#map-spoken").inner_text().partition(": ")
        found[name] = next((state for state in NODE_STATES if f", {state}," in text), "awake")
    return found


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
    assert tiles[4] == "2"  # nodes asleep
    asleep = rows(tab, "[aria-label^='Nodes that sleep']")
    told = {row["node"]: row for row in status_of(live.world.keeper)["nodes"]}
    assert {row[0] for row in asleep} == {"b", "c"}
    for row in asleep:
        own = told[row[0]]
        since, saved = own["since"].replace("T", " ").rstrip("Z"), f"{own['idle_w'] - own['asleep_w']:.0f}"
        assert row[1:5] == [own["state"], since, own["why"], saved]
    live.world.api.annotate("c", ASK, WAKE)
    live.wait(live.world.until("c", State.AWAKE))
    tab.locator("[aria-label^='Changes seen'] tbody tr", has_text="awake").first.wait_for()
    seen = rows(tab, "[aria-label^='Changes seen']")
    assert (seen[0][1], seen[-1][2], seen[0][3]) == ("c", "asleep", "awake")
    assert tab.locator("#view-live button, #view-live input").count() == 0


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


@pytest.mark.parametrize("size", SIZES)
def test_every_view_fits_its_width_and_axe_finds_nothing(new_tab, finished, size):
    SHOTS.mkdir(parents=True, exist_ok=True)
    found = {}
    for path in (*VIEWS, finished):
        tab = new_tab(path, size)
        open_view(tab, path)
        name = "run" if path == finished else path.partition("?")[0].strip("/") or "start"
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
