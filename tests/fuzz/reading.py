"""Command lines of what reads clusters, traces and meters: import, import-trace, fit, serve, calibrate."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from datasets.trace_files import FILES as FORMATS
from fuzz.clusters import cluster_file, kubeconfig_file, pod_file
from fuzz.documents import configuration, document_file
from fuzz.given import SERVERS, power_file, power_options
from fuzz.lines import Building, given_options, number, odd_policy, policy
from fuzz.odd import odd_number, odd_text
from fuzz.tables import csv_file, node_rows, task_rows


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


def ui(building: Building) -> list[str]:
    """Always with a fault that must stop it before it serves."""
    draw = building.draw
    building.faults = False  # no further ones: they might take the fault away
    building.add("nodes.csv", csv_file(node_rows(), False))
    building.files["file"] = b"x"
    wrong = (
        *("--port=-1", "--port=65536", "--port=x", "--port=2.5", "--host=0.0.0.0", "--host=nowhere", "--host="),
        *("--host=192.0.2.1", "--token=short", "--live=x", "--live=http://", "--live=ftp://a", "--live=http://a:x"),
        *("--results=nowhere", "--results=file", "--results=.", "--datacenter=nowhere", "--datacenter=file"),
        *(
            "--trace=nowhere",
            "--trace=nodes.csv",
            "--power=nodes.csv",
            "--power=nowhere",
            "--out=file",
            "--out=file/x",
            "--out=/",
            "--out=",
            "--out=" + "x" * 300,
        ),
        *("--plugin=nowhere", "--plugin=file", "--nosuch", "more", "--no-browser=x"),
    )
    words = ["ui", "--no-browser", *draw(st.lists(st.sampled_from(("--datacenter=nodes.csv", "--port=0")), max_size=2))]
    return [*words, draw(st.sampled_from(wrong))]


def sleep_command(building: Building, command: str, options: dict[str, Any]) -> list[str]:
    """Nobody answers where the kubeconfig leads: every case ends with one line."""
    draw, faults = building.draw, building.faults
    cluster = "{name: c, cluster: {server: 'http://127.0.0.1:1'}}"
    rest = "contexts: [{name: c, context: {cluster: c, user: u}}]\nusers: [{name: u, user: {token: t}}]"
    good = f"current-context: c\nclusters: [{cluster}]\n{rest}\n".encode()
    building.add("kubeconfig", st.sampled_from((good, b"", b"{", b"\xff")) if faults else st.just(good))
    building.add("serve.toml", st.sampled_from((b"", b"[sleep]\nnodes = 'a=b'\n", b"[sleep]\nnodes = ''\n")))
    names = draw(st.lists(st.sampled_from(("n0", "", "a/b", "\u00fc")), max_size=2))
    return ["sleep", command, *names, "--kubeconfig", "kubeconfig", *draw(given_options(options, faults))]


def sleep_status(building: Building) -> list[str]:
    words = sleep_command(building, "status", {"--json": None, "--undo": None, "--server": SERVERS})
    return [word for word in words if word not in ("n0", "a/b")]


def sleep_wake(building: Building) -> list[str]:
    timeouts = st.sampled_from(("1s", "2m", "soon", "-1"))
    options = {"--all": None, "--direct": None, "--config": st.just("serve.toml"), "--timeout": timeouts}
    return sleep_command(building, "wake", options)


def sleep_hold(building: Building) -> list[str]:
    return sleep_command(building, "hold", {"--off": None})


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
