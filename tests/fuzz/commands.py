"""A grammar for every command: files and a command line that belong together, with faults and without."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from datasets.trace_files import FILES as FORMATS
from fuzz.case import Case, Folder, Link
from fuzz.clusters import cluster_file, kubeconfig_file, pod_file
from fuzz.documents import configuration, document_file, experiment, power_document
from fuzz.lines import Building, finished, given_options, number, odd_policy, policy
from fuzz.odd import NAMES, Strategy, odd_number, odd_text
from fuzz.results import INPUTS, WORDS, results_folder
from fuzz.tables import csv_file, node_rows, placement_rows, task_rows, timed_task_rows

PROFILE = st.sampled_from(("paper", "linear", "concave", "measured"))
TARGETS = st.sampled_from(("tasks.csv", "default", "gpuspec33"))
SERVERS = st.sampled_from(
    (
        "http://127.0.0.1:1",
        "http://127.0.0.1:99999",
        "http://",
        "http://[::1",
        "ftp://x",
        "x",
        "",
        "http://127.0.0.1:1/a b",
        "http://127.0.0.1:x",
    )
)
# Never a number that is allowed and large: a thousand seeds are good input, and take long.
FEW = number("1", "2")
ODD_COUNT = st.one_of(
    st.sampled_from(
        (
            "0",
            "-1",
            "2.9",
            "x",
            "",
            "nan",
            "inf",
            "1e400",
            "9" * 30,
            "9" * 5000,
            str(2**31),
            str(2**63),
            "1_0",
            "\u0663",
        )
    ),
    odd_text().filter(lambda text: not any(c.isdigit() for c in text)),
)
EDITS: dict[str, Strategy[str] | None] = {
    "--add": number("2xT4-2", "1xH100-8:128c:1024g", "a10-1", "3xcpu:8c:16g"),
    "--remove": number("T4", "1xT4", "A10-1", "cpu"),
    "--replace": number("T4=A10", "1xT4=L4", "A10-1=H100"),
}
ODD_EDITS = st.one_of(
    st.sampled_from(
        (
            "0xT4-1",
            "9999999xT4-1",
            "T4-99",
            "T4-0",
            "x",
            "-",
            "2xT4-1 3",
            "9" * 5000 + "xT4-1",
            "cpu:1c",
            "T4=",
            "=T4",
            "T4=x",
        )
    ),
    odd_text(),
)
WINDOWS: dict[str, Strategy[str] | None] = {
    "--batch": number("1", "3", "100"),
    "--batch-seconds": number("15", "0.5"),
    "--batch-milp-seconds": number("0", "1"),
}
ODD_PLUGINS = (
    b"",
    b"x = ",
    b"raise ValueError('a\\nb')",
    b"import nosuch",
    b"\xff",
    b"\0",
    b"import wattpack\nwattpack.register(3)",
)
PLUGINS = st.sampled_from((b"", b"# nothing\n", b"import wattpack\n"))


def nodes_and_tasks(building: Building) -> None:
    """`nodes.csv` and `tasks.csv`; in a faulty case at most one of them is meant to be wrong."""
    wrong = building.draw(st.sampled_from(("nodes", "tasks", "none"))) if building.faults else "none"
    building.add("nodes.csv", csv_file(node_rows(), wrong == "nodes"))
    building.add("tasks.csv", csv_file(task_rows(), wrong == "tasks"))


def power_options(building: Building) -> dict[str, Strategy[str] | None]:
    """`--profile` and `--power`, the file with it."""
    building.add("power.toml", power_file(building.faults and building.draw(st.integers(0, 3)) == 0))
    return {"--profile": PROFILE, "--power": st.just("power.toml")}


def power_file(faults: bool) -> Strategy[Any]:
    return document_file(power_document(), faults, "toml")


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
    if faults:
        options["--against"] = st.sampled_from(("nowhere", ".", "nodes.csv", *NAMES))
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
        "--sample": number("60s", "1m"),
        "--target": TARGETS,
        "--seeds": FEW,
        **EDITS,
        **power_options(building),
        **places_of_runs(building),
    }
    # Never a length that is allowed and large: a year of tasks is good input, and takes long.
    odd = {"--workers": ODD_COUNT, "--on": ODD_PLACES, **dict.fromkeys(EDITS, ODD_EDITS)}
    odd |= dict.fromkeys(("--days", "--load", "--seeds", "--horizon", "--sample"), ODD_COUNT)
    return words + draw(given_options(options, faults, odd))


SPEEDS = [["model", "speed"], *([model, "0.5"] for model in ("T4", "G2", "P100", "V100M16", "A10", "G3", "L4", "H100"))]
PRICES = [
    ["timestamp", "price_per_kwh", "currency"],
    *([f"2024-03-04T{hour:02}:00Z", f"{hour}", "EUR"] for hour in range(24)),
]
ODD_PLACES = st.sampled_from(("", "x", "local=3", "threads=", "Local", "dask:", "ray=", "\udcff"))


def places_of_runs(building: Building) -> dict[str, Strategy[str] | None]:
    """`--workers`, `--on` and `--plugin`, the file with it."""
    building.add("plugin.py", st.sampled_from(ODD_PLUGINS) if building.faults else PLUGINS)
    plugins = number("plugin.py", *(["nowhere.py", "nodes.csv", "."] if building.faults else []))
    return {"--workers": FEW, "--on": number("local", "threads"), "--plugin": plugins}


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


def import_(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    wrong = draw(st.sampled_from(("cluster", "cluster", "config", "none"))) if faults else "none"
    words = ["import", "--out", building.output(folder=True)]
    if faults and draw(st.integers(0, 5)) == 0:
        words += ["--kubeconfig", building.add("kubeconfig", kubeconfig_file())]
    else:
        words += ["--file", building.add("cluster.json", cluster_file(wrong == "cluster"))]
    if wrong == "config" or draw(st.booleans()):
        words += ["--config", building.add("config.toml", document_file(configuration(), wrong == "config", "toml"))]
        building.add("tasks.csv", csv_file(task_rows(), False))
    dialect = st.sampled_from(("alibaba", "nvidia", "kai", "hami", "aliyun", "volcano", "koordinator", "mig"))
    options = {"--anonymise": None, "--strict": None, "--dialect": dialect, **power_options(building)}
    return words + draw(given_options(options, faults))


def import_trace(building: Building) -> list[str]:
    """A small file of a format; in a faulty case with odd cells, or read as another format."""
    draw, faults = building.draw, building.faults
    kind = draw(st.sampled_from(sorted(FORMATS)))
    text = FORMATS[kind][1]
    for _ in range(draw(st.integers(0, 3)) if faults else 0):
        parts = re.split(r"([,|\s])", text)
        parts[2 * draw(st.integers(0, len(parts) // 2))] = draw(odd_text())
        text = "".join(parts)
    building.add("trace", st.just(text.encode("utf-8", "surrogateescape")))
    if faults and draw(st.integers(0, 4)) == 0:
        kind = draw(st.one_of(st.sampled_from(sorted(FORMATS)), odd_text()))
    words = ["import-trace", kind, "trace"]
    if draw(st.booleans()):
        words += ["--out", building.output()]
    options = {
        "--vcpu-per-gpu": number("1", "12.5"),
        "--memory-gib-per-gpu": number("1", "64"),
        "--gpus-per-node": number("1", "8"),
        "--processors-per-gpu": number("0", "8"),
        "--time-zone": number("UTC"),
        "--gpu-only": None,
        "--strict": None,
    }
    return words + draw(given_options(options, faults))


def fit(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    wrong = draw(st.sampled_from(("cluster", "pod", "pod", "config", "none"))) if faults else "none"
    words = ["fit", draw(st.sampled_from(("-f", "--pod"))), building.add("pod.yaml", pod_file(wrong == "pod"))]
    kind = draw(st.sampled_from(("file", "file", "file", "kubeconfig", "server"))) if faults else "file"
    if kind == "file":
        words += ["--file", building.add("cluster.json", cluster_file(wrong == "cluster"))]
    elif kind == "kubeconfig":
        words += ["--kubeconfig", building.add("kubeconfig", kubeconfig_file())]
    else:
        words += ["--server", draw(SERVERS)]
    if wrong == "config" or draw(st.booleans()):
        words += ["--config", building.add("config.toml", document_file(configuration(), wrong == "config", "toml"))]
        building.add("tasks.csv", csv_file(task_rows(), False))
    return words + draw(
        given_options({"--policy": policy(), **power_options(building)}, faults, {"--policy": odd_policy()})
    )


def serve(building: Building) -> list[str]:
    """Only `--check`: it reads the configuration, and tries to reach a cluster that is not there."""
    draw, faults = building.draw, building.faults
    words = [
        "serve",
        "--check",
        "--config",
        building.add("config.toml", document_file(configuration(), faults, "toml")),
    ]
    building.add("tasks.csv", csv_file(task_rows(), False))
    building.add("power.toml", power_file(False))
    if faults and draw(st.integers(0, 3)) == 0:
        words += ["--kubeconfig", building.add("kubeconfig", kubeconfig_file())]
    options = {
        "--policy": policy(),
        "--shadow": None,
        "--host": number("127.0.0.1"),
        "--port": number("0", "80"),
        "--prometheus": SERVERS,
    }
    words += draw(given_options(options, faults, {"--policy": odd_policy(), "--port": odd_number()}))
    building.faults = False  # a lost `--check` would serve
    return words


def again(building: Building) -> list[str]:
    """A results folder that is there, whole or spoilt: `run` goes on from it, `bound` reads it."""
    files = building.draw(results_folder(building.faults))
    building.files |= {**INPUTS, **files}
    if building.draw(st.booleans()):
        return ["bound", "--datacenter", "nodes.csv", "--trace", "tasks.csv", "--loads", "0.5", "--against", "results"]
    building.outputs.append("results")
    return list(WORDS)


def power(building: Building) -> list[str]:
    draw, faults = building.draw, building.faults
    if draw(st.booleans()):
        source = draw(st.sampled_from(("nodes.csv", "alibaba2023", "nowhere")))
        if source == "nodes.csv":  # else it would be a file that the command does not read, and may replace
            building.add("nodes.csv", csv_file(node_rows(), faults))
        words = ["power", "--template", source]
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


def calibrate_gpu(building: Building) -> list[str]:
    """Without a GPU: readings that are fitted again, or one line that says so."""
    draw, faults = building.draw, building.faults
    head = "kind,share,watts,clock_mhz,temperature_c,load,gpu,limit_w"
    rows = [("idle", 0, 10), ("context", 0, 28), ("time", 0.5, 50), ("time", 1, 70), ("multiprocessors", 1, 69)]
    lines = [f"{kind},{share},{watts},1000,40,x,Tesla T4,70" for kind, share, watts in rows]
    if faults and draw(st.booleans()):
        place, cell = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, 7))
        cells = lines[place].split(",")
        cells[cell] = draw(odd_text())
        lines[place] = ",".join(cells)
    building.add("readings.csv", st.just("\n".join([head, *lines, ""]).encode("utf-8", "surrogateescape")))
    words = ["calibrate", "gpu", "--again", "readings.csv"]
    if draw(st.booleans()):
        words += ["--out", building.output()]
    options = {
        "--by": st.sampled_from(("time", "time", "multiprocessors")),
        "--load": st.sampled_from(("auto", "driver")),
        "--seconds": number("1", "5"),
        "--shares": number("2", "10"),
        "--model": st.sampled_from(("T4", "Mine")),
        "--gpu": number("0"),
    }
    return words + draw(given_options(options, faults))


def calibrate_prometheus(building: Building) -> list[str]:
    """Nobody answers: every case ends with one line."""
    draw, faults = building.draw, building.faults
    building.add("token", st.sampled_from((b"secret\n", b"", b"a b", b"\xff")) if faults else st.just(b"secret\n"))
    words = ["calibrate", "prometheus", draw(SERVERS) if faults else "http://127.0.0.1:1"]
    if draw(st.booleans()):
        words += ["--out", building.output()]
    options = {
        "--last": st.sampled_from(("1h", "7d")),
        "--step": st.sampled_from(("30s", "5m")),
        "--end": st.sampled_from(("2026-11-16T12:00:00Z", "2026-01-01")),
        "--share": st.sampled_from(("utilisation", "requests", "x")),
        "--token-file": number("token"),
        "--timeout-seconds": number("1"),
    }
    return words + draw(given_options(options, faults))


def no_command(building: Building) -> list[str]:
    """Help, also of a command, versions, and words that are no command."""
    odd = ("-v", "", "-", "--", "nosuch", "Compare", "serve ", "\udcff", "\u00fc", "--nosuch")
    words = st.sampled_from(("--help", "-h", "help", "--version", *odd))
    if building.draw(st.booleans()):
        building.faults = False  # a lost `--help` would run the paper
        return [*building.draw(st.sampled_from(sorted(COMMANDS))).split(), "--help"]
    return building.draw(st.lists(words, max_size=2))


def one_policy(faults: bool) -> Strategy[str]:
    return st.one_of(policy(), policy(), policy(), policy(), odd_policy()) if faults else policy()


Grammar = Callable[[Building], list[str]]
COMMANDS: dict[str, Grammar] = {
    "replay": replay,
    "explain": explain,
    "defrag": defrag,
    "bound": bound,
    "derive": derive,
    "compare": compare,
    "simulate": simulate,
    "run": run,
    "tune": tune,
    "paper": paper,
    "import": import_,
    "import-trace": import_trace,
    "fit": fit,
    "serve": serve,
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
