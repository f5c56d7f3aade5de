"""What several commands are given: policies, edits of datacenters, windows, plugins, power files."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from fuzz.documents import document_file, power_document
from fuzz.lines import Building, number, odd_policy, policy
from fuzz.odd import Strategy, odd_text
from fuzz.tables import csv_file, node_rows, task_rows

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


def places_of_runs(building: Building) -> dict[str, Strategy[str] | None]:
    """`--workers`, `--on` and `--plugin`, the file with it."""
    building.add("plugin.py", st.sampled_from(ODD_PLUGINS) if building.faults else PLUGINS)
    plugins = number("plugin.py", *(["nowhere.py", "nodes.csv", "."] if building.faults else []))
    return {"--workers": FEW, "--on": number("local", "threads"), "--plugin": plugins}


def one_policy(faults: bool) -> Strategy[str]:
    return st.one_of(policy(), policy(), policy(), policy(), odd_policy()) if faults else policy()
