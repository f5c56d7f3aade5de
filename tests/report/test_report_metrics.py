"""The numbers that every output shows, and the sentences made of them."""

import numpy as np
import pytest

from report.builders import BUSY_W, IDLE_W, make_bound, make_curves, make_results
from wattpack.experiments.curves import LOADS, Results, at
from wattpack.report.metrics import (
    by_saving,
    eopc_saving,
    first_loss,
    saving,
    saving_spread,
    sustained_saving,
    traces,
    until,
    watts_per_gpu,
)
from wattpack.report.narrative import leader, overall, sentences


def test_the_saving_is_one_minus_the_ratio_of_the_watts_per_gpu_served():
    results = make_results(pwr=0.15)
    pwr, fgd = results["default", "pwr"], results["default", "fgd"]
    found = saving(results, "default", "pwr")
    per_gpu = 1 - watts_per_gpu(pwr, 1000) / watts_per_gpu(fgd, 1000)
    assert found[1:] == pytest.approx(per_gpu[1:])
    served = slice(0, at(0.8) + 1)  # both serve everything: the paper's saving
    assert found[served] == pytest.approx(eopc_saving(results, "default", "pwr")[served], rel=1e-12)
    assert found[at(0.5)] == pytest.approx(0.15)
    assert found[at(1.0)] == pytest.approx(1 - 0.85 / (0.8 / 0.95))  # it serves 0.8, fgd 0.95


def test_a_policy_that_refuses_half_of_the_tasks_and_draws_half_saves_nothing():
    results = make_results()
    results["default", "half"] = make_curves("default", "half", 0.5, fails_from=0.45)
    assert saving(results, "default", "half")[at(0.9)] == pytest.approx(0.0)
    assert eopc_saving(results, "default", "half")[at(0.9)] == pytest.approx(0.5)


def test_where_one_serves_nothing_of_what_is_requested_there_is_no_saving():
    results = make_results()
    results["default", "none"] = make_curves("default", "none", 0.5, fails_from=0.0)
    found = saving(results, "default", "none")
    assert np.isnan(found[1:]).all()
    assert found[0] == pytest.approx(0.5)  # nothing is requested yet, so nothing is refused: watts of idle nodes


def test_savings_are_against_whom_the_results_name():
    results = Results(make_results(pwr=0.15, bestfit=0.04), against=("bestfit", "fgd"))
    assert saving(results, "default", "pwr")[at(0.5)] == pytest.approx(1 - 0.85 / 0.96)
    assert saving(results, "default", "pwr", "fgd")[at(0.5)] == pytest.approx(0.15)
    assert by_saving(results, "default") == ["bestfit", "pwr", "fgd"]
    said = sentences(results, "default")[0]
    assert said.startswith(
        "On default, pwr saves 11.5 % of BestFit's watts per GPU served at load 0.5 (15.0 % against FGD)"
    )


def test_the_spread_is_that_of_the_saving_seed_by_seed():
    results = make_results(pwr=0.1)
    # Seed by seed the saving is 0.1, although the powers themselves differ between the seeds.
    assert saving_spread(results, "default", "pwr") == pytest.approx(np.zeros(len(LOADS)), abs=1e-12)


def test_curves_without_common_seeds_or_without_a_column_have_no_spread_and_no_warning():
    results = make_results(pwr=0.1) | {("default", "bound"): make_bound()}
    assert not saving_spread(results, "default", "bound").any()
    assert np.isnan(watts_per_gpu(results["default", "bound"], 100)).all()


def test_policies_are_ranked_by_saving_with_the_baseline_first_and_the_bound_last():
    results = Results({("default", "bound"): make_bound(), **make_results(bestfit=0.04, pwr=0.15, random=-0.1)})
    assert by_saving(results, "default") == ["fgd", "pwr", "bestfit", "random", "bound"]


def test_without_a_baseline_nothing_is_said_to_be_saved():
    results = Results({("t", "pwr"): make_curves("t", "pwr")})
    assert np.isnan(saving(results, "t", "pwr")).all()
    assert sustained_saving(results, "t", "pwr") == -np.inf
    assert sentences(results, "t") == ["On t, there is no fgd to compare with."]


def test_until_is_the_last_load_of_an_unbroken_stretch_from_0_15():
    values = np.where(LOADS <= 0.8, 13.0, 4.0)
    assert until(values, 12) == 0.8
    assert until(values, 3) == 1.3
    assert until(values, 14) is None
    values[at(0.4)] = 11  # a dip ends it, whatever comes later
    assert until(values, 12) == 0.395


def test_watts_per_gpu_are_power_over_gpus_allocated():
    curves = make_curves("t", "fgd", seeds=1)
    # Load 0.8 of 1,000 GPUs: 800 GPUs for 0.2 + 1.2 x 0.8 = 1.16 MW.
    assert watts_per_gpu(curves, 1000)[at(0.8)] == pytest.approx((IDLE_W + BUSY_W * 0.8) / 800)
    assert np.isnan(watts_per_gpu(curves, 1000)[0])


def test_the_zoom_on_grar_begins_where_half_of_the_policies_fail():
    found = {"fgd": 0.9, "a": 0.7, "b": 0.2}
    results = Results({("t", policy): make_curves("t", policy, fails_from=load) for policy, load in found.items()})
    assert first_loss(results, "t") == pytest.approx(0.65)


def test_traces_keep_the_order_of_the_results():
    assert traces(make_results(("b", "a"))) == ["b", "a"]


def test_the_summary_says_what_is_saved_how_long_and_what_is_served():
    results = make_results(**{"pwr:0.1+fgd:0.9": 0.129, "bestfit": 0.04})
    # fgd serves 0.95 of the load 1.0, the mix 0.95 - 0.129.
    assert sentences(results, "default") == [
        "On default, pwr:0.1+fgd:0.9 saves 12.9 % of FGD's watts per GPU served at load 0.5 and stays above 12 % until "
        "0.82; it serves 0.821 of the requested GPU at full load against FGD's 0.950.",
        "bestfit saves at most 4.0 % between 0.15 and 0.8.",
    ]


def test_the_policy_that_serves_more_leads_where_savings_are_near_each_other():
    results = make_results(pwr=0.15)
    results["default", "pwr:0.1+fgd:0.9"] = make_curves("default", "pwr:0.1+fgd:0.9", 0.14, fails_from=0.93)
    assert leader(results, "default") == "pwr:0.1+fgd:0.9"
    assert sentences(results, "default")[1].startswith(
        "pwr saves most (15.0 % on average from 0.15 to 0.8, against 14.0 %)"
    )


def test_a_saving_bought_with_refused_work_says_so():
    results = make_results()
    results["default", "pwr"] = make_curves("default", "pwr", 0.5, fails_from=0.4)  # serves 0.4 of 0.5
    assert "It refuses more than FGD: at load 0.5 it serves 0.800, FGD 1.000." in sentences(results, "default")


def test_no_policy_is_praised_when_none_saves():
    assert sentences(make_results(random=-0.1), "default") == [
        "On default, no policy saves power against fgd; random comes nearest."
    ]


@pytest.mark.parametrize(
    ("reaches", "said"),
    [
        (0.6, "On default, pwr saves 10.0 % of FGD's watts per GPU served at load 0.5 and stays above 8 % until 0.60; "
              "the workload does not reach full load."),
        (0.3, "On default, pwr saves 10.0 % on average from load 0.15; the workload does not reach full load."),
        (0.1, "On default, the workload ends before load 0.15."),
    ],
)  # fmt: skip
def test_a_workload_that_ends_early_is_spoken_of_as_far_as_it_goes(reaches, said):
    results = make_results(pwr=0.1, reaches=reaches) | {("default", "bound"): make_bound()}
    assert sentences(results, "default")[0] == said
    assert not any("nan" in sentence for sentence in sentences(results, "default"))


def test_a_baseline_alone_is_nothing_to_compare():
    assert sentences(Results({("t", "fgd"): make_curves("t", "fgd")}), "t") == ["On t, only fgd ran."]


def test_the_bound_is_named_but_never_leads():
    results = make_results(pwr=0.1) | {("default", "bound"): make_bound()}
    assert leader(results, "default") == "pwr"
    # The bound has 0.8 of seed 0's power, the mean of fgd over its three seeds is 1.001 of it: 1 - 0.8 / 1.001.
    assert (
        sentences(results, "default")[-1] == "No scheduler that serves all it can saves more than 20.1 % at load 0.5."
    )


def test_several_traces_are_summed_up_by_the_least_and_the_most_saving():
    results = make_results(("a", "b"), pwr=0.1)
    results["b", "pwr"] = make_curves("b", "pwr", 0.2)
    said = "Across 2 traces, the best compromise saves 10.0 % (a, pwr) to 20.0 % (b, pwr) at load 0.5."
    assert overall(results, ["a", "b"]) == said
    assert overall(results, ["a"]) is None
