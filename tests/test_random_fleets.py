"""The random fleets that policies are judged on (`python -m benchmarks fleets`)."""

from __future__ import annotations

import pytest
from benchmarks.fleet_table import everything, summarise, table, worst
from benchmarks.random_fleets import HELD_OUT, MODELS, TUNING, parse_numbers, random_fleet

from wattpack.errors import UserError
from wattpack.experiments.digests import datacenter_digest, trace_digest
from wattpack.model.power import PROFILES

DATACENTERS = ["37aa0e41db23c6d6", "d1e5b36bc8e6ad3e", "56a2b0c2393a2077"]
TRACES = [
    "30015aec49528f3b",
    "10852320546ae731",
    "3df495f461567021",
    "198091e3d7f38697",
    "ac89d9837fcde76d",
    "95eda4c229cb621b",
]


def test_a_number_gives_the_same_fleet_everywhere():
    fleets = [random_fleet(number) for number in (0, 7, 100)]
    assert [datacenter_digest(fleet.datacenter) for fleet in fleets] == DATACENTERS
    assert [trace_digest(setting.trace) for fleet in fleets for setting in fleet.settings] == TRACES


def test_fleets_lie_within_what_the_page_says_of_them():
    for number in (*TUNING[:20], *HELD_OUT[:20]):
        fleet = random_fleet(number)
        own = fleet.datacenter
        assert 200 <= len(own) <= 3000
        assert own.gpus.max() <= 16
        assert 1 <= len(set(own.types.tolist())) <= 6
        with_gpu = own.gpus > 0
        assert with_gpu.any()
        per_gpu = own.cpu_milli[with_gpu] / own.gpus[with_gpu] / 1000
        assert per_gpu.min() >= 4
        assert per_gpu.max() <= 64
        assert len({setting.profile for setting in fleet.settings}) == 2


def test_every_model_has_watts_in_every_profile():
    for name in ("paper", "measured", "linear"):
        for model in MODELS:
            PROFILES[name].gpu(model)


def test_tuning_and_held_out_fleets_are_60_each_and_differ():
    assert len(TUNING) == len(HELD_OUT) == 60
    assert not set(TUNING) & set(HELD_OUT)


@pytest.mark.parametrize("text", ["", "a", "5-3", "1-", "1-99999"])
def test_bad_fleet_numbers_are_one_line(text):
    with pytest.raises(UserError, match="--fleets"):
        parse_numbers(text)


def test_fleet_numbers_are_ranges_and_single_ones():
    assert parse_numbers("3,7,100-102") == (3, 7, 100, 101, 102)


def record(grar, watts, gap=None):
    return {"grar": [grar] * 17, "w_per_gpu": [watts] * 8} | ({} if gap is None else {"gap_w": [gap, gap]})


def test_where_the_least_fill_up_draws_more_than_the_best_mix_is_in_the_row_of_fgd():
    records = {
        "fill-up fgd": record(1.0, 200, 40) | {"least_fill_up_w": 172.0},
        "fill-up pwr:0.2+fgd:0.8": record(0.99, 170, 10),
    }
    setting = {"fleet": 3, "trace": "default", "profile": "paper", "records": records}
    rows = everything([setting])["fill-up"]
    assert [row["least_above_mix"] for row in rows] == [pytest.approx(172 / 170 - 1), None]


def test_the_table_counts_low_grar_and_watts_above_the_best_mix():
    records = {
        "fill-up fgd": record(1.0, 200, 40),
        "fill-up pwr:0.1+fgd:0.9": record(1.0, 180, 20),
        "fill-up pwr:0.2+fgd:0.8": record(0.99, 170, 10),
        "fill-up ocs": record(0.9979, 171, 5),
    }
    setting = {"fleet": 3, "trace": "default", "profile": "paper", "records": records}
    rows = everything([setting])["fill-up"]
    ocs = summarise(rows)[-1]
    assert ocs["policy"] == "ocs"
    assert ocs["saving"] == pytest.approx(1 - 171 / 200)
    assert (ocs["grar_low"], ocs["above_mix"], ocs["above_safe"]) == (1, 1, 0)  # 171 > 170 * 1.005; 171 < 180
    assert ocs["gap_to_bound"] == pytest.approx(5 / 10)
    assert [row["both"] for row in summarise(rows)] == [0, 0, 0, 0]  # the first mix serves all and draws 6 % too much
    assert "| `ocs` | +14.5% | 1, -0.002 | 1, +0.6% | 0 | 0, -5.0% | 0.50 | 1 |" in table(summarise(rows), "fill-up")
    assert "fleet 3 default paper" in worst(rows, "ocs", 1, {3: "nodes"})
