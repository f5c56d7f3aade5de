"""Command lines of what places tasks once: replay, explain, defrag, bound, derive."""

from __future__ import annotations

from hypothesis import strategies as st

from fuzz.given import EDITS, ODD_COUNT, SERVERS, TARGETS, WINDOWS, nodes_and_tasks, one_policy, power_options
from fuzz.lines import Building, given_options, number
from fuzz.odd import NAMES, Strategy
from fuzz.tables import csv_file, node_rows, placement_rows, task_rows, timed_task_rows


def replay(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    nodes, tasks = draw(node_rows()), draw(task_rows())
    wrong = draw(st.sampled_from(("nodes", "tasks", "placements", "none"))) if faults else "none"
    building.add("nodes.csv", csv_file(st.just(nodes), wrong == "nodes"))
    building.add("tasks.csv", csv_file(st.just(tasks), wrong == "tasks"))
    words = ["replay", "--nodes", "nodes.csv", "--tasks", "tasks.csv", "--policy", draw(one_policy(faults))]
    if draw(st.integers(0, 3)) == 0:
        building.add("placements.csv", csv_file(placement_rows(nodes, tasks), wrong == "placements"))
        words += ["--placements", "placements.csv"]
    for option in draw(st.lists(st.sampled_from(("--decisions", "--series")), unique=True)):
        words += [option, building.output()]
    options: dict[str, Strategy[str] | None] = {
        "--target": st.one_of(TARGETS, st.just("learnt")),
        **power_options(building),
        "--allow-slower": None,
        "--seed": number("0", "7"),
        **EDITS,
        **WINDOWS,
    }
    return words + draw(given_options(options, faults))


def explain(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    nodes_and_tasks(building)
    timed: dict[str, Strategy[str] | None] = {}
    if draw(st.integers(0, 2)) == 0:
        building.add("tasks.csv", csv_file(timed_task_rows(), faults and draw(st.integers(0, 3)) == 0))
        timed = {"--at": number("0", "1m", "2h"), "--queue": number("fifo", "drop"), "--patience": number("30s", "2h")}
        timed |= {
            "--budget-kw": number("1", "100"),
            "--sleep": number("on", "idle=1s,reserve=0"),
            "--cap": number("0.7"),
        }
    words = ["explain", "nodes.csv", "tasks.csv", "--policy", draw(one_policy(faults))]
    words += ["--task", draw(st.sampled_from(("t0", "t1", "t3", "nosuch", "")))]
    live = (
        {"--live": st.sampled_from(("a/b", "a", "/", "a/b/c", "\u00fc/\udcff")), "--server": SERVERS} if faults else {}
    )
    return words + draw(
        given_options(
            {
                "--target": TARGETS,
                "--top": number("0", "1", "20"),
                "--seed": number("0", "7"),
                **power_options(building),
                **EDITS,
                **live,
                **timed,
            },
            faults,
        )
    )


def defrag(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    nodes, tasks = draw(node_rows()), draw(task_rows())
    wrong = draw(st.sampled_from(("nodes", "tasks", "placements", "none"))) if faults else "none"
    building.add("nodes.csv", csv_file(st.just(nodes), wrong == "nodes"))
    building.add("tasks.csv", csv_file(st.just(tasks), wrong == "tasks"))
    building.add("placements.csv", csv_file(placement_rows(nodes, tasks), wrong == "placements"))
    words = ["defrag", "--nodes", "nodes.csv", "--tasks", "tasks.csv", "--placements", "placements.csv"]
    for option in draw(st.lists(st.sampled_from(("--out", "--placements-out")), unique=True)):
        words += [option, building.output()]
    options: dict[str, Strategy[str] | None] = {
        "--target": TARGETS,
        "--allow-slower": None,
        "--same-model": None,
        **EDITS,
        "--moves": number("1", "100"),
        "--gpu-worth": number("0", "50"),
        "--least": number("1"),
    }
    return words + draw(given_options({**options, **power_options(building)}, faults))


def bound(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    nodes_and_tasks(building)
    words = ["bound", "--datacenter", "nodes.csv", "--trace", "tasks.csv"]
    if draw(st.booleans()):
        words += ["--out", building.output()]
    options: dict[str, Strategy[str] | None] = {
        "--loads": number("0.5", "0,1", "0.2,0.5,1.3"),
        "--seed": number("0", "42"),
        "--expected": None,
        **power_options(building),
        "--offline": number("0.05"),
        **EDITS,
    }
    if draw(st.booleans()):  # a reserve is refused without the watts of sleep
        words += ["--sleep-w", "10"]
        options["--reserve"] = number("2%", "0", "3", "50%")
    if faults:
        options["--against"] = st.sampled_from(("nowhere", ".", "nodes.csv", *NAMES))
        options["--sleep-w"] = number("0", "1e9")
    return words + draw(given_options(options, faults, {"--offline": ODD_COUNT}))


def derive(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    percent = number("0", "1", "50", "99", "100")
    options = {"--multi": percent, "--sharing": percent, "--constrained": percent, "--against": TARGETS}
    options |= {"--datacenter": number("nodes.csv"), "--seed": number("0", "7")}
    given = draw(given_options(options, faults))
    nodes_and_tasks(building)
    if "nodes.csv" not in given:  # no input, then: it may well be written over
        building.files.pop("nodes.csv", None)
    words = ["derive", "tasks.csv"]
    if draw(st.booleans()):
        words += ["--out", building.output()]
    return words + given
