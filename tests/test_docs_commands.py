"""Every `wattpack` command of the README and of the guides runs.

The commands of a page run in the order of the page, in one folder, through `wattpack.cli.main`, so that one command
reads the files of another. Built-in datacenters and traces are replaced by small files of the same names, and ten seeds
by one. A command that needs a Kubernetes cluster, and a page that has a test of its own, are in the tables below, and
the test that runs them must exist and hold them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.files import NODES, TASKS
from wattpack.cli import COMMANDS, main
from wattpack.datasets import alibaba2023
from wattpack.datasets.sources import DATACENTERS
from wattpack.experiments import steady
from wattpack.experiments.bound import ahead
from wattpack.policies import BUILT_IN, REGISTRY

pytestmark = pytest.mark.compiled
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]

# Pages whose commands another test reads from the page and runs.
OWN_TEST = {
    "time.md": "tests/test_guide_time.py::test_each_command_runs_in_the_order_of_the_page",
    "import.md": "tests/cli/test_cli_import.py::test_the_guides_example_prints_what_the_guide_shows",
    "sleep-live.md": "tests/e2e/test_sleep_people.py::test_each_command_of_the_guide_does_what_the_guide_says",
    "traces.md": "tests/cli/test_cli_import_trace.py::test_the_guides_commands_run_in_the_order_of_the_page",
    "write-a-policy.md": "tests/test_guide_policy.py::test_the_guide_can_be_followed_literally",
}
README_LIVE = "tests/e2e/test_readme_live.py::test_each_command_of_the_section_runs_in_the_order_of_the_readme"
UNDERSTAND = (
    "tests/e2e/test_live_understand.py::"
    "test_events_explain_and_fit_say_why_and_a_changed_configuration_is_taken_without_a_restart"
)
UI = "tests/cli/test_cli_ui.py::test_each_command_of_the_guide_serves_what_it_names"
PAPER = "tests/cli/test_cli_paper.py::test_all_results_are_written_and_the_verdicts_printed"
PAPER_AND_OCS = "tests/cli/test_cli_paper.py::test_a_policy_of_ours_and_the_bound_are_drawn_too_and_change_no_verdict"
EXPERIMENT = "tests/experiments/test_guide.py::test_each_query_gives_each_policy_and_window_once"
GPU = "tests/cli/test_cli_calibrate.py::test_a_gpu_becomes_an_entry_of_a_power_file"
AGAIN = "tests/cli/test_cli_calibrate.py::test_readings_are_fitted_again_without_a_gpu"
PROMETHEUS = "tests/cli/test_cli_calibrate.py::test_a_prometheus_becomes_entries_of_a_power_file"
# Commands that need a GPU, a Prometheus or a cluster, or that another test runs on smaller inputs than a file can give.
ELSEWHERE = {
    "wattpack import --out cluster": README_LIVE,
    "wattpack replay --nodes cluster/nodes.csv --tasks cluster/tasks.csv --placements cluster/placements.csv "
    "--policy ocs": README_LIVE,
    "wattpack serve --shadow": README_LIVE,
    "wattpack fit -f pod.yaml": README_LIVE,
    "wattpack serve --config wattpack.toml": UNDERSTAND,
    "wattpack explain --live NAMESPACE/POD": UNDERSTAND,
    "wattpack fit -f pod.yaml --server http://127.0.0.1:8888": UNDERSTAND,
    "wattpack ui": UI,
    "wattpack ui --datacenter nodes.csv --trace tasks.csv": UI,
    "wattpack ui --results out/demo": UI,
    "wattpack ui --live http://127.0.0.1:8888": UI,
    "wattpack paper --out out/paper": PAPER,
    "wattpack paper --policy ocs --bound": PAPER_AND_OCS,
    "wattpack run experiment.toml --out out": EXPERIMENT,
    "wattpack calibrate gpu --out power.toml": GPU,
    "wattpack calibrate gpu --again readings.csv --out power.toml": AGAIN,
    "wattpack calibrate prometheus http://prometheus.monitoring:9090 --last 7d --out power.toml": PROMETHEUS,
}
RUN_HERE = {"bound", "compare", "datacenters", "defrag", "derive", "explain", "policies", "power", "replay", "traces"}
RUN_HERE |= {"plan", "simulate", "tune"}
WITH_INPUTS = {
    "bound",
    "compare",
    "plan",
    "simulate",
    "tune",
}  # --datacenter and --trace are built-in names unless given
FEWEST_SEEDS = {"compare": "1", "plan": "1", "simulate": "1", "tune": "2"}
ARRIVALS = 1_200  # of a steady state, instead of 60,000: with one round of moves
OUTPUTS = ("--out", "--decisions", "--series", "--placements-out")


def blocks(page: Path) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def commands(page: Path) -> list[str]:
    """The lines of shell blocks that start with `wattpack`, without comments and prompts."""
    shell = [text.replace("\\\n", " ") for language, text in blocks(page) if language in ("sh", "bash", "console")]
    lines = [line.removeprefix("$ ") for text in shell for line in text.splitlines()]
    return [shlex.join(shlex.split(line, comments=True)) for line in lines if line.startswith("wattpack ")]


def all_commands() -> Iterator[tuple[Path, str]]:
    return ((page, command) for page in PAGES for command in commands(page))


def small(command: str) -> list[str]:
    """The words after `wattpack` with small inputs in the place of built-in ones, and one seed."""
    words = shlex.split(command)[1:]
    for i, word in enumerate(words[:-1]):
        if word in ("--trace", "--datacenter") and words[i + 1] in (*alibaba2023.TRACES, *DATACENTERS):
            words[i + 1] = f"./{words[i + 1]}"
        elif word == "--seeds":
            words[i + 1] = FEWEST_SEEDS[words[0]]
        elif word == "--offline":
            words[i + 1] = "0.1"
        elif word == "--task" and words[i + 1] == "NAME":
            words[i + 1] = "share-1"
    if words[0] in WITH_INPUTS:
        words += [] if "--datacenter" in words else ["--datacenter", f"./{alibaba2023.NAME}"]
        words += [] if "--trace" in words else ["--trace", "./default"]
    if words[0] in FEWEST_SEEDS and "--seeds" not in words:
        words += ["--seeds", FEWEST_SEEDS[words[0]]]
    return words


def write_inputs(folder: Path, page: Path) -> None:
    """Small files by every name that a page may give, and the plugins and TOML files that the page shows and names."""
    times = ["creation_time,duration", *(f"{10 * i},3600" for i in range(1, len(TASKS)))]
    timed = [f"{line},{time}" for line, time in zip(TASKS.splitlines(), times, strict=False)]
    (folder / "cluster").mkdir()
    for name in ("nodes.csv", "cluster/nodes.csv", *DATACENTERS):
        (folder / name).write_text(NODES)
    for name in ("tasks.csv", "cluster/tasks.csv", *alibaba2023.TRACES):
        (folder / name).write_text("\n".join(timed) + "\n")
    (folder / "caps.csv").write_text("cap,speed\n0.6,0.9\n1,1\n")
    (folder / "wattpack.toml").write_text('policy = "ocs"\n')
    for language, text in blocks(page):
        if language in ("python", "toml") and (name := re.match(r"# (\w+\.(?:py|toml))\n", text)):
            (folder / name[1]).write_text(text)


def fewer_arrivals(*given: Any, run: Any = steady.run_steady) -> Any:
    datacenter, trace, mix, load, seed, profile, _, *rest = given
    return run(datacenter, trace, mix, load, seed, profile, ARRIVALS, *rest)


LONG = ("tune.md", "policies.md", "sleep.md")  # 7 to 9 s each: `make e2e` runs them
SHOWN = [
    pytest.param(page, marks=[pytest.mark.e2e] if page.name in LONG else [], id=page.name)
    for page in PAGES
    if page.name not in OWN_TEST
]


@pytest.mark.parametrize("page", SHOWN)
def test_each_command_of_a_page_runs_in_the_order_of_the_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))  # not the cluster of whoever runs the tests
    monkeypatch.setattr(steady, "run_steady", fewer_arrivals)
    monkeypatch.setattr(ahead, "usable_cores", lambda: 1)  # the bound of a small trace is no work for a second process
    write_inputs(tmp_path, page)
    try:
        for command in commands(page):
            if command in ELSEWHERE:
                continue
            words = small(command)
            main(words)
            written = [words[i + 1] for i, word in enumerate(words) if word in OUTPUTS]
            assert [name for name in written if not (tmp_path / name).exists()] == [], command
    finally:
        for name in set(REGISTRY) - BUILT_IN:  # what plugins registered
            del REGISTRY[name]


def test_every_command_is_covered_by_a_rule() -> None:
    """A command that is not run here must name the test that runs it."""
    uncovered = [
        f"{page.name}: {command}"
        for page, command in all_commands()
        if page.name not in OWN_TEST
        and command not in ELSEWHERE
        and command.split()[1] not in RUN_HERE
        and not command.startswith("wattpack serve --check ")
    ]
    assert uncovered == []


def test_no_command_is_run_twice_and_no_rule_is_left_over() -> None:
    given = [command for page, command in all_commands() if page.name not in OWN_TEST]
    here = [command for command in given if command not in ELSEWHERE]
    assert len(here) == len(set(here))
    assert set(ELSEWHERE) <= set(given)
    assert {command.split()[1] for command in given} <= {name.split()[0] for name in COMMANDS}


@pytest.mark.parametrize(("page", "test"), OWN_TEST.items())
def test_a_page_with_a_test_of_its_own_is_read_by_that_test(page: str, test: str) -> None:
    assert f'"{page}"' in source_of(test)


@pytest.mark.parametrize(("command", "test"), ELSEWHERE.items())
def test_a_command_that_is_run_elsewhere_is_held_by_that_test(command: str, test: str) -> None:
    """Word for word in the README that the test reads, or as the command and options that it calls."""
    source = source_of(test)
    if '"README.md"' in source:
        assert command in commands(ROOT / "README.md")
        return
    subcommand, *more = shlex.split(command)[1:]
    options = [word for word in more if word.startswith("-")]
    assert [word for word in (subcommand, *options) if f'"{word}"' not in source] == []


def source_of(test: str) -> str:
    """The file of a test, which must define it, and the modules beside it that it imports."""
    name, _, function = test.partition("::")
    text = (ROOT / name).read_text(encoding="utf-8")
    assert re.search(rf"^def {function}\(", text, flags=re.MULTILINE), f"{name} has no {function}"
    modules = re.findall(r"^from (e2e\.\w+) import", text, flags=re.MULTILINE)
    files = [ROOT / "tests" / f"{module.replace('.', '/')}.py" for module in modules]
    return "\n".join([text, *(file.read_text(encoding="utf-8") for file in files)])
