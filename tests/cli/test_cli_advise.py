"""`wattpack simulate --advise`: how much comes from placement, sleep, caps and clean hours, and what it costs."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from cli.files import write_nodes, write_timed_tasks
from cli.test_cli_sleep import TASKS
from report.test_report_time import numbers
from wattpack.cli import main
from wattpack.experiments.advise import CAPS, HOURS, PLACEMENT, SLEEP, Advice, Tried, with_defaults, without
from wattpack.experiments.timed_options import Timed
from wattpack.report.advice import advice_section, rows, said, sentences


def advised(folder: Path, *more: str) -> list[dict[str, str]]:
    inputs = ["--datacenter", write_nodes(folder), "--trace", write_timed_tasks(folder, TASKS)]
    main(["simulate", *inputs, "--advise", "--out", str(folder / "out"), *more])
    with (folder / "out" / "advice.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def made(by_set: dict[tuple[str, ...], float], waits: dict[tuple[str, ...], float] | None = None) -> Advice:
    """A factorial with these kWh."""
    factors = tuple(dict.fromkeys(factor for chosen in by_set for factor in chosen))
    tried = {
        frozenset(chosen): Tried(
            "ocs" if PLACEMENT in chosen else "fgd",
            frozenset(chosen),
            (numbers(kwh=kwh, wait_p99_s=(waits or {}).get(chosen, 0.0)),),
        )
        for chosen, kwh in by_set.items()
    }
    return Advice("week", with_defaults(Timed()), "kwh", "ocs", factors, tried)


FACTORIAL = made(
    {
        (): 1000.0,
        (PLACEMENT,): 900.0,
        (SLEEP,): 800.0,
        (CAPS,): 850.0,
        (PLACEMENT, SLEEP): 740.0,
        (PLACEMENT, CAPS): 780.0,
        (SLEEP, CAPS): 660.0,
        (PLACEMENT, SLEEP, CAPS): 600.0,
    },
    {(PLACEMENT, SLEEP, CAPS): 300.0, (SLEEP,): 300.0},
)


def test_shares_add_up_to_what_the_best_takes_off_and_are_means_over_all_orders() -> None:
    shares = FACTORIAL.shares()
    assert sum(shares.values()) == pytest.approx(FACTORIAL.less(FACTORIAL.best)) == pytest.approx(0.4)
    # sleep comes first (200) twice, after placement (160), after caps (190), last (180) twice; of 1,000
    assert shares[SLEEP] == pytest.approx((2 * 200 + 160 + 190 + 2 * 180) / 6 / 1000)


def test_the_sentences_say_what_to_do_where_it_comes_from_the_price_and_what_to_begin_with() -> None:
    first, second = sentences(FACTORIAL)
    assert first == (
        "On week, policy ocs, sleep and cap 0.7 together save 40.0 % of the energy of fgd as it is (600 against 1,000 "
        "kWh): 7.5 points from placement, 18.5 points from sleep, 14.0 points from caps."
    )
    assert second == (
        "The price: the p99 of the wait is 5 min instead of 0 s, and batch tasks run longer under the caps. Begin with "
        "sleep: alone it saves 20.0 %, and the p99 of the wait is 5 min instead of 0 s."
    )


def test_an_option_that_costs_beside_the_others_is_not_in_the_best() -> None:
    worse = made({(): 1000.0, (PLACEMENT,): 950.0, (SLEEP,): 800.0, (PLACEMENT, SLEEP): 820.0})
    assert worse.best.chosen == {SLEEP}
    assert [row.what for row in rows(worse)] == [
        *("fgd as it is", "policy ocs alone", "sleep alone", "all together", "best: sleep")
    ]
    assert sentences(worse)[0] == "On week, sleep saves 20.0 % of the energy of fgd as it is (800 against 1,000 kWh)."
    none = made({(): 1000.0, (SLEEP,): 1001.0})
    assert sentences(none) == ["On week, none of the options saves energy against fgd as it is."]
    assert "none of the options" in advice_section(none)


def test_the_bar_of_the_page_is_what_is_left_and_the_shares() -> None:
    text = advice_section(FACTORIAL)
    assert 'aria-label="left 60.0 %; placement 7.5 %; sleep 18.5 %; caps 14.0 %"' in text
    assert text.count("<rect class=") == 4


def test_options_that_are_not_given_are_the_defaults_and_each_can_be_left_out() -> None:
    full = with_defaults(Timed(slack="BE=3600", cap="T4=0.5"))
    assert (full.sleep, full.cap) == ("reserve=2%,shutdown=60,wake=300,watts=10", "T4=0.5")
    assert without(full, frozenset({SLEEP})) == Timed(sleep=full.sleep)
    assert without(full, frozenset({CAPS, HOURS, SLEEP})) == full
    moving = full._replace(consolidate="moves=60")
    assert without(moving, frozenset()) == Timed()  # moves belong to sleep
    assert said(replace(FACTORIAL, timed=moving), SLEEP) == "sleep with moves"


def test_every_set_of_options_is_run_once_and_the_same_command_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = advised(tmp_path, "--policy", "pwr", "--policy", "bestfit", "--sleep", "reserve=0")
    factors = (PLACEMENT, SLEEP, CAPS)
    sets = [chosen for size in range(4) for chosen in combinations(factors, size)]
    assert {row["options"] for row in found} == {"+".join(chosen) or "none" for chosen in sets}
    runs = set((tmp_path / "out" / "time").iterdir())
    assert len(runs) == 3 * 2 + 2 * 2  # three policies at both ends, FGD and the best between
    printed = capsys.readouterr().out
    assert "what to do: energy" in printed
    assert "sleep reserve=0 alone" in printed
    assert '<section id="advice">' in (tmp_path / "out" / "report.html").read_text()
    before = {file: file.stat().st_mtime_ns for file in runs}
    again = advised(tmp_path, "--policy", "pwr", "--policy", "bestfit", "--sleep", "reserve=0")
    assert again == found
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "out" / "time").iterdir()} == before
    # the numbers are those of plain runs
    inputs = ["--datacenter", write_nodes(tmp_path), "--trace", write_timed_tasks(tmp_path, TASKS)]
    words = ["--policy", "fgd", "--sleep", "reserve=0"]
    main(["simulate", *inputs, *words, "--out", str(tmp_path / "plain")])
    with (tmp_path / "plain" / "time.csv").open(newline="") as file:
        (plain,) = csv.DictReader(file)
    (alone,) = (row for row in found if row["options"] == SLEEP)
    assert float(alone["value"]) == pytest.approx(float(plain["kwh"]), rel=1e-9)


def test_with_slack_the_signal_is_what_there_is_less_of_and_clean_hours_are_an_option(tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    lines = [f"2024-03-04T{hour:02}:00Z,{1 if hour % 2 else 3},EUR" for hour in range(24)]
    prices.write_text("\n".join(["timestamp,price_per_kwh,currency", *lines]) + "\n")
    words = ["--price", str(prices), "--start", "2024-03-04T00:00+00:00", "--slack", "BE=2h", "--policy", "fgd"]
    found = advised(tmp_path, *words)
    assert {row["measure"] for row in found} == {"money"}
    assert {row["options"] for row in found} >= {HOURS, f"{SLEEP}+{CAPS}+{HOURS}"}
    assert not any(PLACEMENT in row["options"] for row in found)  # no policy beside FGD
    by_options = {row["options"]: float(row["less"]) for row in found}
    assert by_options[HOURS] > 0


@pytest.mark.parametrize("more", [["--trace", "x.csv"], ["--tasks-out", "-"]])
def test_advice_is_for_one_datacenter_and_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        advised(tmp_path, *more)
    assert ended.value.code == 2
    assert "--advise is for one datacenter and one trace" in capsys.readouterr().err
