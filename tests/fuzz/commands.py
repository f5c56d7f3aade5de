"""A grammar for every command: files and a command line that belong together, with faults and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from fuzz.case import Case, Folder, Link
from fuzz.given import EDITS, ODD_EDITS, PROFILE, TARGETS, places_of_runs, power_options
from fuzz.lines import Building, finished, given_options, number
from fuzz.odd import NAMES, Strategy
from fuzz.placing import bound, defrag, derive, explain, replay
from fuzz.reading import (
    calibrate_gpu,
    calibrate_prometheus,
    fit,
    import_,
    import_trace,
    serve,
    sleep_hold,
    sleep_status,
    sleep_wake,
    ui,
)
from fuzz.running import again, compare, paper, plan, run, simulate, tune
from fuzz.tables import csv_file, node_rows, task_rows


def power(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    if draw(st.booleans()):
        source = draw(st.sampled_from(("nodes.csv", "alibaba2023", "nowhere")))
        if source == "nodes.csv":  # else it would be a file that the command does not read, and may replace
            building.add("nodes.csv", csv_file(node_rows(), faults))
        odd = (" --add Xx", " --replace T4=", " --remove nosuch", " --add 2xcpu-1", " --add é-8") if faults else ()
        behind = st.sampled_from(("", "", " --add 2xT4-2", " --add 2xNEW-X-8", " --replace T4=Newer", *odd))
        words = ["power", "--template", source + draw(behind)]
        words += ["--out", building.output()] if draw(st.booleans()) else []
        return words + draw(given_options({"--profile": PROFILE}, faults))
    building.add("nodes.csv", csv_file(node_rows(), faults))
    options = power_options(building)
    pictures = st.sampled_from(("x.png", "x.pdf", "x.svg", *(("x", "nodes.csv", "x.txt", "") if faults else ())))
    building.outputs += ["x.png", "x.pdf", "x.svg"]
    gpus = st.sampled_from(("T4", "H200", *(("Own", "nosuch", "") if faults else ())))
    return ["power", *draw(given_options({**options, "--gpu": gpus, "--figure": pictures}, faults))]


def datacenters(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    names = st.sampled_from(("nodes.csv", "nodes.csv", "alibaba2026"))
    words = ["datacenters", draw(st.one_of(names, st.sampled_from(NAMES)) if faults else names)]
    if "nodes.csv" in words:  # a file that the command does not read may be replaced
        building.add("nodes.csv", csv_file(node_rows(), faults and draw(st.booleans())))
    if draw(st.booleans()):
        words += ["--out", building.output()]
    options = {**EDITS, "--profile": PROFILE}
    return words + draw(given_options(options, faults, dict.fromkeys(EDITS, ODD_EDITS)))


def traces(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    words = ["traces", draw(TARGETS)] if draw(st.integers(0, 3)) else ["traces"]
    if "tasks.csv" in words:
        building.add("tasks.csv", csv_file(task_rows(), faults))
    if draw(st.booleans()):
        words += ["--out", building.output()]
    options: dict[str, Strategy[str] | None] = {
        "--load": number("0.5", "0.9"),
        "--days": number("0.1", "1"),
        "--arrivals": st.sampled_from(("poisson", "rhythm,daily=0.1", "bursts,burst=3", "rhythm,weekend=2")),
        "--seed": number("0", "7"),
    }
    return words + draw(given_options(options, faults))


def policies(building: Building) -> list[str]:
    return [
        "policies",
        *building.draw(given_options({"--plugin": places_of_runs(building)["--plugin"]}, building.faults)),
    ]


def new_policy(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    odd = (
        "x" * 250,
        "x" * 300,
        "__main__",
        "class",
        "fgd",
        "json",
        "a.b",
        "1x",
        "_",
        "\u00fc",
        "\udcff",
        "../x",
        "a\nb",
        "-x",
        "",
    )
    name = draw(st.one_of(st.just("mine"), st.sampled_from(odd))) if faults else "mine"
    words = ["new-policy", name]
    if faults and draw(st.integers(0, 3)) == 0:  # something is in the way
        there = draw(st.sampled_from(("mine.py", "test_mine.py")))
        building.files[there] = draw(st.sampled_from((b"mine\n", Folder(), Link("nowhere/x"), Link("loop"))))
    return [*words, "--out", building.output(folder=True)] if draw(st.booleans()) else words


def no_command(building: Building) -> list[str]:
    """Help, also of a command, versions, and words that are no command."""
    odd = ("-v", "", "-", "--", "nosuch", "Compare", "serve ", "\udcff", "\u00fc", "--nosuch")
    words = st.sampled_from(("--help", "-h", "help", "--version", *odd))
    if building.draw(st.booleans()):
        building.faults = False  # a lost `--help` would run the paper
        return [*building.draw(st.sampled_from(sorted(COMMANDS))).split(), "--help"]
    return building.draw(st.lists(words, max_size=2))


Grammar = Callable[[Building], list[str]]

COMMANDS: dict[str, Grammar] = {
    "replay": replay,
    "explain": explain,
    "defrag": defrag,
    "bound": bound,
    "derive": derive,
    "compare": compare,
    "simulate": simulate,
    "plan": plan,
    "run": run,
    "tune": tune,
    "paper": paper,
    "import": import_,
    "import-trace": import_trace,
    "fit": fit,
    "serve": serve,
    "ui": ui,
    "sleep status": sleep_status,
    "sleep wake": sleep_wake,
    "sleep hold": sleep_hold,
    "calibrate gpu": calibrate_gpu,
    "calibrate prometheus": calibrate_prometheus,
    "datacenters": datacenters,
    "traces": traces,
    "policies": policies,
    "power": power,
    "new-policy": new_policy,
    "again": again,
    "": no_command,
}


@st.composite
def cases(draw: Any, command: str) -> Case:
    """A case of one command: three in four with faults, or with what looks like one."""
    building = Building(draw, faults=draw(st.integers(0, 3)) > 0)
    return draw(finished(building, COMMANDS[command](building)))
