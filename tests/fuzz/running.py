"""Command lines of what runs many scenarios: compare, simulate, plan, run, tune, paper."""

from __future__ import annotations

from hypothesis import strategies as st

from fuzz.documents import document_file, experiment
from fuzz.given import (
    EDITS,
    FEW,
    ODD_COUNT,
    ODD_EDITS,
    TARGETS,
    WINDOWS,
    nodes_and_tasks,
    one_policy,
    places_of_runs,
    power_file,
    power_options,
)
from fuzz.lines import Building, given_options, number
from fuzz.odd import NAMES, Strategy, odd_text
from fuzz.results import INPUTS, WORDS, results_folder
from fuzz.tables import csv_file, node_rows, timed_task_rows


def compare(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    nodes_and_tasks(building)
    words = ["compare", "--datacenter", "nodes.csv", "--trace", "tasks.csv", "--policy", draw(one_policy(faults))]
    words += [
        "--seeds",
        draw(st.one_of(FEW, FEW, FEW, ODD_COUNT) if faults else FEW),
        "--out",
        building.output(folder=True),
    ]
    options = {
        "--steady": number("0.5", "0.5,0.9"),
        "--defrag-every": number("5", "100"),
        "--defrag-moves": number("1", "100"),
        "--defrag-pause-seconds": number("0", "60"),
        "--bound": None,
        "--no-bound": None,
        **power_options(building),
        "--trace": number("tasks.csv", "./tasks.csv"),
        **EDITS,
        **WINDOWS,
        **places_of_runs(building),
    }
    if faults and draw(st.integers(0, 5)) == 0:
        name = draw(st.sampled_from(("\udcff.csv", "[/x].csv", "a\nb.csv", "\u00fc.csv", "%s.csv", "-x.csv")))
        building.files[name] = building.files.get("tasks.csv", b"")
        words += ["--trace", name]
    odd = {"--trace": st.sampled_from(("nodes.csv", "nowhere", *NAMES)), "--workers": ODD_COUNT, "--on": ODD_PLACES}
    return words + draw(given_options(options, faults, odd))


def simulate(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    wrong = draw(st.sampled_from(("nodes", "tasks", "none"))) if faults else "none"
    building.add("nodes.csv", csv_file(node_rows(), wrong == "nodes"))
    building.add("tasks.csv", csv_file(timed_task_rows(), wrong == "tasks"))
    building.add("speeds.csv", csv_file(st.just(SPEEDS), faults and draw(st.integers(0, 3)) == 0))
    building.add("prices.csv", csv_file(st.just(PRICES), faults and draw(st.integers(0, 3)) == 0))
    building.add("caps.csv", csv_file(st.just(CAPS), faults and draw(st.integers(0, 3)) == 0))
    words = ["simulate", "--datacenter", "nodes.csv", "--trace", "tasks.csv", "--policy", draw(one_policy(faults))]
    words += ["--out", building.output(folder=True)]
    if draw(st.integers(0, 3)) == 0:
        words += ["--tasks-out", building.output()]
    options: dict[str, Strategy[str] | None] = {
        "--queue": number("drop", "fifo", "backfill"),
        "--patience": number("30s", "2h"),
        "--load": number("0.5"),
        "--days": number("0.01"),
        "--arrivals": number("poisson", "bursts,burst=3"),
        "--start": number("2024-03-04T00:00+00:00"),
        "--horizon": number("1m", "1h"),
        "--slack": number("BE=1h", "6h"),
        "--slack-by": number("carbon", "price"),
        "--forecast": number("perfect", "yesterday"),
        "--pue": number("1", "1.3"),
        "--carbon": number("DEU", "300"),
        "--price": number("0.2 EUR", "prices.csv"),
        "--embodied": number("gpu=1", "node=5,years=3"),
        "--repeat-signals": None,
        "--hold-gaps": None,
        "--budget-kw": number("1", "100"),
        "--speed": number("typical", "speeds.csv"),
        "--speed-reference": number("0.5"),
        **SLEEP_AND_CAPS,
        "--cap-speed": number("caps.csv"),
        "--advise": None,
        "--sample": number("60s", "1m"),
        "--target": TARGETS,
        "--seeds": FEW,
        **EDITS,
        **power_options(building),
        **places_of_runs(building),
    }
    # Never a length that is allowed and large: a year of tasks is good input, and takes long.
    odd = {"--workers": ODD_COUNT, "--on": ODD_PLACES, **dict.fromkeys(EDITS, ODD_EDITS)}
    options |= {"--consolidate": CONSOLIDATE, "--bound": None, "--no-bound": None}
    odd |= {"--sleep": ODD_SLEEP, "--cap": ODD_CAPS, "--consolidate": ODD_CONSOLIDATE}
    odd |= dict.fromkeys(("--days", "--load", "--seeds", "--horizon", "--sample"), ODD_COUNT)
    return words + draw(given_options(options, faults, odd))


def plan(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    wrong = draw(st.sampled_from(("nodes", "tasks", "none"))) if faults else "none"
    building.add("nodes.csv", csv_file(node_rows(), wrong == "nodes"))
    building.add("tasks.csv", csv_file(timed_task_rows(), wrong == "tasks"))
    node = draw(st.sampled_from(("T4-1", "H100-8:64c:256g", "G2-4")))
    if faults and draw(st.integers(0, 3)) == 0:
        node = draw(st.one_of(st.sampled_from(("T4", "T4-0", "cpu", "2xT4-1", "-1", "T4-99")), odd_text()))
    words = ["plan", node, "--wait-p99", draw(st.sampled_from(("1s", "10m", "0", "soon") if faults else ("1s", "10m")))]
    words += ["--datacenter", "nodes.csv", "--trace", "tasks.csv", "--policy", draw(one_policy(faults))]
    words += ["--most", draw(st.sampled_from(("1", "8", "0", "x") if faults else ("1", "8")))]
    words += ["--out", building.output(folder=True)]
    options: dict[str, Strategy[str] | None] = {
        "--queue": number("fifo", "backfill", "drop"),
        "--patience": number("30s", "2h"),
        "--load": number("0.5"),
        "--days": number("0.01"),
        "--arrivals": number("poisson"),
        "--horizon": number("1m", "1h"),
        "--budget-kw": number("1", "100"),
        "--speed": number("typical"),
        **SLEEP_AND_CAPS,
        "--seeds": FEW,
        **power_options(building),
        **places_of_runs(building),
    }
    odd = {"--workers": ODD_COUNT, "--on": ODD_PLACES, "--sleep": ODD_SLEEP, "--cap": ODD_CAPS}
    odd |= dict.fromkeys(("--days", "--load", "--seeds", "--horizon"), ODD_COUNT)
    return words + draw(given_options(options, faults, odd))


SPEEDS = [["model", "speed"], *([model, "0.5"] for model in ("T4", "G2", "P100", "V100M16", "A10", "G3", "L4", "H100"))]

CAPS = [["cap", "speed"], ["1", "1"], ["0.5", "0.7"]]

SLEEP_AND_CAPS: dict[str, Strategy[str] | None] = {
    "--sleep": number("on", "idle=6m", "idle=1s,wake=2m,shutdown=0,reserve=0,watts=5", "reserve=50%"),
    "--cap": number("0.7", "T4=0.5", "1"),
}
CONSOLIDATE = number("on", "moves=5,every=1m,pause=0s,pays=1m,slower=yes")
ODD_CONSOLIDATE = st.sampled_from(("60", "moves", "moves=-1", "every=0", "pause=nan", "slower=1", "=")) | odd_text()
ODD_SLEEP = (
    st.sampled_from(("6m", "idle", "idle=", "idle=-1", "wake=inf", "reserve=101%", "watts=nan", "sleep=1", "="))
    | odd_text()
)
ODD_CAPS = st.sampled_from(("T4", "T4=0", "T4=1.1", "=0.5", "nan", "0.7,0.8", "X=0.5", "T4=0.5,T4=0.5")) | odd_text()

PRICES = [
    ["timestamp", "price_per_kwh", "currency"],
    *([f"2024-03-04T{hour:02}:00Z", f"{hour}", "EUR"] for hour in range(24)),
]

ODD_PLACES = st.sampled_from(("", "x", "local=3", "threads=", "Local", "dask:", "ray=", "\udcff"))


def run(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    wrong = draw(st.sampled_from(("files", "experiment", "experiment", "none"))) if faults else "none"
    building.add("nodes.csv", csv_file(node_rows(), wrong == "files"))
    building.add("tasks.csv", csv_file(timed_task_rows().filter(lambda rows: len(rows) > 1), wrong == "files"))
    kind = draw(st.sampled_from(("toml", "json")))
    name = (
        draw(st.sampled_from(("e.txt", "e", ".toml", "e.JSON")))
        if faults and draw(st.integers(0, 9)) == 0
        else f"e.{kind}"
    )
    building.add(name, document_file(experiment(), wrong == "experiment", kind))
    building.add("power.toml", power_file(wrong == "files"))
    words = ["run", name, "--out", building.output(folder=True)]
    return words + draw(given_options(places_of_runs(building), faults, {"--workers": ODD_COUNT, "--on": ODD_PLACES}))


def tune(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    nodes_and_tasks(building)
    if draw(st.integers(0, 2)) == 0:
        return tune_sleep(building)
    words = ["tune", "--datacenter", "nodes.csv", "--trace", "tasks.csv", "--policy", draw(one_policy(faults))]
    words += [
        "--seeds",
        draw(st.one_of(number("2"), number("2"), number("2"), ODD_COUNT) if faults else number("2")),
        "--out",
        building.output(folder=True),
    ]
    options = {
        "--loads": number("0.5", "0.5,1"),
        "--steady": number("0.5"),
        "--grar-loss": number("0", "0.1"),
        **power_options(building),
    }
    odd = {"--workers": ODD_COUNT, "--on": ODD_PLACES, "--loads": odd_text(), "--steady": odd_text()}
    return words + draw(given_options({**options, **places_of_runs(building)}, faults, odd))


def tune_sleep(building: Building) -> list[str]:
    """Tasks at their own times: a file without times is a fault."""
    draw, faults = building.draw, building.faults
    if not faults or draw(st.integers(0, 3)) > 0:
        building.add("tasks.csv", csv_file(timed_task_rows(), faults and draw(st.integers(0, 3)) == 0))
    words = [
        "tune",
        "--sleep",
        "--datacenter",
        "nodes.csv",
        "--trace",
        "tasks.csv",
        "--policy",
        draw(one_policy(faults)),
    ]
    words += ["--wait-p99", draw(st.sampled_from(("10m", "soon", "-1") if faults else ("10m", "0")))]
    options = {"--load": number("0.5"), "--days": number("0.01"), "--seeds": number("1"), **power_options(building)}
    odd = {"--load": ODD_COUNT, "--days": ODD_COUNT, "--workers": ODD_COUNT, "--on": ODD_PLACES}
    words += ["--out", building.output(folder=True)]
    return words + draw(given_options({**options, **places_of_runs(building)}, faults, odd))


def paper(building: Building) -> list[str]:
    """Always with a fault that must stop it: the paper takes minutes."""
    building.faults = False  # no further ones: they might take the fault away
    building.files["file"] = b"x"
    wrong = building.draw(
        st.sampled_from(
            (
                *(
                    "--seeds=0",
                    "--seeds=x",
                    "--seeds=-1",
                    "--seeds=2.9",
                    "--seeds=99999999",
                    "--on=x",
                    "--workers=x",
                    "--policy=nosuch",
                ),
                *(
                    "--policy=",
                    "--published=nowhere",
                    "--published=file",
                    "--published=.",
                    "--out=file",
                    "--out=file/x",
                    "--nosuch",
                ),
                *("--bound=x", "--out", "more", "--published=", "--seeds=nan", "--out=" + "x" * 300),
            )
        )
    )
    return ["paper", wrong]


def again(building: Building) -> list[str]:
    """A results folder that is there, whole or spoilt: `run` goes on from it, `bound` reads it."""
    files = building.draw(results_folder(building.faults))
    building.files |= {**INPUTS, **files}
    if building.draw(st.booleans()):
        return ["bound", "--datacenter", "nodes.csv", "--trace", "tasks.csv", "--loads", "0.5", "--against", "results"]
    building.outputs.append("results")
    return list(WORDS)
