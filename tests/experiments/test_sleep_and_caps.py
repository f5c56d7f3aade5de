"""Sleep and caps by the words of users."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wattpack as wp
from builders import make_datacenter, make_workload
from experiments.small import NODES, TASKS
from wattpack.datasets.cap_speed_files import load_cap_speeds
from wattpack.engine.moments.options import Sleep
from wattpack.errors import UserError
from wattpack.experiments.scenario import Scenario
from wattpack.experiments.sleep_and_caps import cap_text, caps_of, check_caps, sleep_of, sleep_text
from wattpack.experiments.timed_fields import timed_keys, timed_of
from wattpack.experiments.timed_options import LATER, Timed, shown_sleep

DEFAULT = "reserve=2%,shutdown=60,wake=300,watts=10"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (True, DEFAULT),
        ("on", DEFAULT),
        ("wake=5m, shutdown=1m", DEFAULT),
        ("idle=auto", DEFAULT),
        ("watts=10.0,reserve=2.0%", DEFAULT),
        ("idle=6m,reserve=16", "idle=360,reserve=16,shutdown=60,wake=300,watts=10"),
        ("wake_for_reserve=on", "reserve=2%,shutdown=60,wake=300,wake_for_reserve=yes,watts=10"),
        ("wake_for_reserve=no", DEFAULT),
        ({"idle": 90, "wake": "10m"}, "idle=90,reserve=2%,shutdown=60,wake=600,watts=10"),
        (False, ""),
        ("off", ""),
        ("", ""),
    ],
)
def test_knobs_of_sleep_have_one_spelling(given: object, text: str) -> None:
    assert sleep_text(given) == text
    assert sleep_text(text) == text


def test_the_knobs_that_are_not_the_default_are_shown() -> None:
    assert shown_sleep(DEFAULT) == "sleep"
    text = sleep_text("idle=6m,reserve=16,wake_for_reserve=yes,watts=5")
    assert shown_sleep(text) == "sleep idle=6m,reserve=16,wake_for_reserve=yes,watts=5"


def test_a_reserve_in_percent_is_of_the_datacenters_gpus_and_rounded_up() -> None:
    assert sleep_of(DEFAULT, 101) == Sleep(reserve_gpus=3)
    assert sleep_of(sleep_text("reserve=7"), 101) == Sleep(reserve_gpus=7)
    assert sleep_of(sleep_text("idle=6m,watts=5.5"), 100) == Sleep(360.0, 60.0, 300.0, 5.5, 2)
    assert sleep_of("", 100) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("6m", "sleep '6m', expected on, or knobs"),
        ("idle=6m,idle=7m", "each knob once"),
        ("wake=soon", "sleep: wake 'soon', expected a duration"),
        ("reserve=101%", "sleep: reserve '101%', expected a number of GPUs"),
        ("reserve=1.5", "sleep: reserve '1.5', expected a number of GPUs"),
        ("watts=-1", "sleep: watts '-1', expected watts"),
        ("watts=nan", "sleep: watts 'nan', expected watts"),
        ("wake_for_reserve=maybe", "sleep: wake_for_reserve 'maybe', expected yes or no"),
        (7, "sleep 7, expected on, or knobs"),
    ],
)
def test_a_wrong_knob_is_refused_in_one_line(given: object, said: str) -> None:
    with pytest.raises(UserError, match=said):
        sleep_text(given)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("T4=0.7, A10=0.8", "A10=0.8,T4=0.7"),
        (0.7, "*=0.7"),
        ("0.7,T4=1", "*=0.7,T4=1"),
        ({"T4": 0.7}, "T4=0.7"),
        ("T4=1", ""),
        (1, ""),
        ("", ""),
        (False, ""),
    ],
)
def test_caps_have_one_spelling_and_a_cap_of_1_is_none(given: object, text: str) -> None:
    assert cap_text(given) == text
    assert cap_text(text) == text


@pytest.mark.parametrize("given", ["T4", "T4=0", "T4=1.1", "T4=x", "=0.7", "T4=0.7,T4=0.8", True, "T4=nan"])
def test_a_wrong_cap_is_refused(given: object) -> None:
    with pytest.raises(UserError, match=r"^cap "):
        cap_text(given)


def test_caps_go_to_the_models_of_the_datacenter_by_name_or_by_what_the_catalog_calls_them() -> None:
    models = ("", "T4", "H100-80GB-HBM3", "A10")
    assert caps_of("*=0.7,T4=0.9", models) == {"T4": 0.9, "H100-80GB-HBM3": 0.7, "A10": 0.7}
    assert caps_of("h100-sxm=0.6", models) == {"H100-80GB-HBM3": 0.6}
    assert caps_of("*=0.7,A10=1", ("A10", "T4")) == {"T4": 0.7}
    assert caps_of("", models) == {}
    check_caps("*=0.7,h100-sxm=0.6", models)
    with pytest.raises(
        UserError, match=r"cap L4=0\.5: no node has the GPU L4, expected one of A10, H100-80GB-HBM3, T4"
    ):
        check_caps("L4=0.5", models)


def test_a_table_of_speeds_under_caps_is_read_and_wrong_rows_are_named(tmp_path: Path) -> None:
    file = tmp_path / "caps.csv"
    file.write_text("cap,speed\n1,1\n0.5,0.7\n")
    assert load_cap_speeds(file) == ((0.5, 0.7), (1.0, 1.0))
    for text in ("cap,speed\n0.5,0\n", "cap,speed\n2,1\n", "cap,speed\n0.5,1\n0.5,1\n", "cap,speed\n"):
        file.write_text(text)
        with pytest.raises(UserError, match=r"caps\.csv"):
            load_cap_speeds(file)
    with pytest.raises(UserError, match="no such file"):
        load_cap_speeds(tmp_path / "none.csv")
    with pytest.raises(UserError, match="cap_speed without caps"):
        timed_of({"cap_speed": "caps.csv"})


def test_the_options_in_the_users_words_are_read_back_as_the_same_options() -> None:
    for given in ({"sleep": True}, {"sleep": "idle=6m"}, {"cap": 0.7}, {"sleep": False, "cap": "T4=0.9"}):
        timed = timed_of(given)
        keys = {key.removeprefix("timed."): value for key, (value,) in timed_keys((timed,)).items()}
        assert timed_of(keys) == timed
    assert timed_of({"sleep": True, "cap": 0.7}).text == "backfill, sleep, cap 0.7"
    assert (
        timed_of({"sleep": "idle=6m,reserve=4", "cap": "T4=0.9"}).text
        == "backfill, sleep idle=6m,reserve=4, cap T4=0.9"
    )


def test_a_run_without_sleep_and_caps_has_no_part_of_them_in_its_id(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    monkeypatch.setattr("wattpack.experiments.scenario.json.dumps", lambda found, **_: told.append(found) or "x")
    plain = Scenario("d", "t", "fgd", 1, "paper", 0.0, "", "", timed=Timed())
    assert plain.id
    assert not set(told.pop()) & set(LATER)
    assert replace(plain, timed=Timed(sleep=DEFAULT)).id
    assert told.pop()["sleep"] == DEFAULT
    assert replace(plain, timed=Timed(cap="T4=0.7", cap_speed="my.csv", cap_speed_digest="d")).id
    assert (told[-1]["cap"], told[-1]["cap_speed_digest"], "cap_speed" in told.pop()) == ("T4=0.7", "d", False)


def test_in_python_sleep_and_caps_are_arguments_and_the_series_has_nodes_by_state() -> None:
    hall, week = make_datacenter(NODES), make_workload(TASKS)
    times = {"arrival_s": [0, 0, 0, 5000], "duration_s": [600, 600, 600, 600]}
    plain = wp.simulate(hall, week, "fgd", **times)
    run = wp.simulate(hall, week, "fgd", **times, sleep={"reserve": 0, "idle": "2m"}, horizon_s=6000, sample_s=60)
    assert "asleep_nodes" not in plain.columns
    assert np.isnan(plain.numbers.wakes)
    assert run.numbers.wakes == run.record.wakes
    assert run.numbers.asleep_node_hours == run.record.asleep_node_s / 3600
    assert run.numbers.mean_asleep_nodes == pytest.approx(run.record.asleep_node_s / 6000)
    frame = run.to_pandas()
    assert set(run.columns) == set(frame.columns)
    states = frame[["busy_nodes", "empty_nodes", "transition_nodes", "asleep_nodes"]]
    assert (states >= 0).all(axis=None)
    assert (states.sum(axis=1) == len(hall)).all()
    assert run.asleep_nodes.max() > 0
    capped = wp.simulate(hall, week, "fgd", **times, cap=0.5)
    assert capped.numbers.kwh < plain.numbers.kwh
