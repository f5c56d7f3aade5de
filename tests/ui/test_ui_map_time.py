"""The map through time in a real browser, and why a task of it is where it is: the numbers are the command line's."""

from __future__ import annotations

import csv
from collections import Counter
from itertools import pairwise
from urllib.parse import urlencode

import numpy as np
import pytest

from ui.page_actions import go_to, rows
from ui.page_server import CHROMIUM
from wattpack.cli import main
from wattpack.engine.moments.sleep_run import NODE_STATES
from wattpack.experiments.timed_run_files import read_series

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser: {CHROMIUM} is missing"),
]


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


def test_a_task_on_the_map_through_time_leads_to_the_decision_that_placed_it(new_tab, server, tmp_path):
    told = "load=0.2&days=0.5&sleep=on&seed=42"
    tab = new_tab(f"/map?datacenter={server.nodes}&trace=default&policy=ocs&other=&over=time&{told}&at=900")
    tab.locator("#map-when", has_text="day 1, ").wait_for()
    words = ["simulate", "--datacenter", server.nodes, "--policy", "ocs", "--load", "0.2", "--days", "0.5"]
    main([*words, "--sleep", "on", "--no-bound", "--out", str(tmp_path), "--tasks-out", str(tmp_path / "tasks.csv")])
    with (tmp_path / "tasks.csv").open() as file:
        tasks = list(csv.DictReader(file))
    tab.locator("#map-sides canvas").focus()
    for _ in range(3):  # the first node with tasks
        tab.keyboard.press("ArrowRight")
        tab.keyboard.press("Enter")
        if tab.locator("#map-node a").count():
            break
    node = tab.locator("#map-node h2").inner_text()
    link = tab.locator("#map-node a").first
    name = link.inner_text()
    link.click()
    tab.wait_for_url("**/why?*over=time*")
    first = tab.locator("#why-answer .first", has_text=f"{name} goes to {node}")
    first.wait_for()
    own = tasks[int(name.removeprefix("task ")) - 1]
    assert first.inner_text() == f"{name} goes to {own['node']}, GPU {own['gpu_index']}."
    assert f"({float(own['start_s']):,.0f} s), when it arrived" in tab.locator("#why-answer .note").first.inner_text()
    steps = [row[0] for row in rows(tab, "#why-answer table >> nth=0")]
    assert steps == ["filter", "score", "normalise", "combine", "choose", "pick"]
    tab.reload()  # the address says it all
    first.wait_for()
    tab.select_option("#why-over", "arrivals")
    assert tab.locator("#why-load").is_hidden()


def test_why_in_time_has_the_numbers_of_explain_at(new_tab, server, capsys):
    query = {"datacenter": server.nodes, "trace": server.timed, "policy": "pwr:0.1+fgd:0.9", "seed": "", "over": "time"}
    for name, fitting in (("eight-2", 1), ("share-1", 1), ("t4-only", 1), ("eight-1", 2)):
        tab = new_tab(f"/why?{urlencode({**query, 'task': name})}")
        tab.locator("#why-answer .first").wait_for()
        main(["explain", server.nodes, server.timed, "--policy", "pwr:0.1+fgd:0.9", "--task", name, "--at", "10d"])
        printed = capsys.readouterr().out
        scores = tab.locator("[aria-label='Nodes that fit, best first'] tbody tr").all()
        assert len(scores) == fitting
        for row in scores:
            cells = [cell.replace("−", "-") for cell in row.locator("th,td").all_inner_texts()]
            node, numbers = cells[0].removesuffix(" (chosen)"), [float(cell) for cell in cells[2:-2]]
            line = next(line for line in printed.splitlines() if line.strip().split(" ")[0] == node and "│" in line)
            assert numbers == [float(part) for part in line.replace("<-", "").split("│")[1:]]
    tab = new_tab(f"/why?{urlencode({**query, 'task': 'never'})}")
    tab.locator("#fault", has_text="task 'never': refused, no node took it in this run").wait_for()
    new_tab.faults.clear()  # the browser notes the refused request
