"""Map, why, ask and live in a real browser; the numbers are the command line's."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import wattpack as wp
from kube.made import node_json
from ui.page_actions import BUILT_IN, go_to, rows
from ui.page_server import CHROMIUM
from wattpack.cli import main
from wattpack.kube.sleep.record import ASK, WAKE
from wattpack.kube.sleep.states import State
from wattpack.kube.sleep.status import status_of

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing"),
]


def test_the_map_has_the_numbers_of_the_run_at_every_moment(new_tab, server):
    tab = new_tab(BUILT_IN["map"])
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
    canvas.click(position={"x": 3, "y": 23})
    assert tab.locator("#map-node h2").inner_text() == "g2-a"
    canvas.click(position={"x": 3, "y": 23})
    assert tab.locator("#map-node").is_hidden()
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


def test_no_form_can_be_sent_before_the_page_is_ready(browser, server):
    """A click before that would send the form itself, which the page's security policy blocks without a word."""
    for path, button in (("/", "#start-run"), ("/map", "#map-show"), ("/why", "#why-show"), ("/ask", "#ask-run")):
        tab = browser.new_page()
        tab.route("**/api/**", lambda route: None)  # an answer that does not come
        server.show(tab, path)
        assert tab.locator(button).is_disabled(), path
        tab.close()


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
    tab = new_tab(BUILT_IN["why"])
    tab.locator("#why-answer svg.bars rect").first.wait_for()
    assert tab.locator("#why-answer svg.bars rect").count() >= 10
    assert tab.locator("[aria-label='Terms of ocs'] tbody tr").count() == 10


def test_numbered_terms_of_ocs_are_said_in_words(new_tab, server):
    from urllib.parse import urlencode

    query = {"datacenter": server.nodes, "trace": server.tasks, "policy": "ocs", "seed": "", "task": "share-2"}
    tab = new_tab(f"/why?{urlencode(query)}")
    tab.locator("[aria-label='Terms of ocs'] tbody tr").first.wait_for()
    assert "slots_1" in tab.locator("[aria-label='Terms of ocs'] th").all_inner_texts()
    assert tab.locator("#why-answer .meanings").inner_text() == "slots_1: slots for tasks of 8 GPUs"


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
    tab.locator("#ask-answer .note", has_text="node affinity are not known: no nodes.json of").first.wait_for()
    tab.fill("#ask-come", "")
    labels = Path(server.nodes).with_name("nodes.json")
    names = [node["sn"] for node in csv.DictReader(Path(server.nodes).read_text().splitlines())]
    labels.write_text(
        json.dumps({"kind": "List", "items": [node_json(name, gpus=8, taint="team-a") for name in names]})
    )
    tab.click("#ask-run")
    tab.locator("#ask-answer .note", has_text="3 of 3 nodes are not open to the pod (taint team-a: 3)").first.wait_for()
    assert rows(tab, "[aria-label^='Nodes that are not open']") == [["taint team-a", "3", ", ".join(names)]]
    labels.unlink()
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
