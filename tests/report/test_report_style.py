"""How policies are named and drawn."""

from itertools import combinations

import pytest

from report.builders import PAPER_POLICIES
from wattpack.experiments.lineup import pwr_share
from wattpack.report.style import Look, label, look, rank, trace_label


@pytest.mark.parametrize(
    ("policy", "shown"),
    [
        ("fgd", "FGD"),
        ("pwr:0.1+fgd:0.9", "PWR 0.1 + FGD 0.9"),
        ("PWR:0.10 + FGD:0.90", "PWR 0.1 + FGD 0.9"),
        ("gpuclustering", "GpuClustering"),
        ("pwr:10+fgd:100", "PWR 10 + FGD 100"),
        ("mine", "mine"),
        ("mine:0.5+pwr:0.5", "mine 0.5 + PWR 0.5"),
        ("mine:x", "mine"),
        ("", ""),
    ],
)
def test_a_policy_is_shown_by_names_and_weights(policy, shown):
    assert label(policy) == shown


@pytest.mark.parametrize(
    ("trace", "shown"),
    [
        ("default", "Default"),
        ("multigpu20", "Multi-GPU 20 %"),
        ("gpuspec33", "Constrained-GPU 33 %"),
        ("my_tasks", "my_tasks"),
    ],
)
def test_a_trace_of_the_paper_is_named_in_words_and_others_keep_their_name(trace, shown):
    assert trace_label(trace) == shown


@pytest.mark.parametrize(
    ("policy", "share"),
    [("pwr:0.1+fgd:0.9", 0.1), ("fgd:3+pwr:1", 0.25), ("pwr", None), ("pwr:0.1+bestfit:0.9", None), ("pwr+fgd", None)],
)
def test_the_share_of_pwr_is_read_from_a_mix_of_pwr_and_fgd_only(policy, share):
    assert pwr_share(policy) == share


def test_all_policies_of_the_paper_look_different_even_without_colour():
    looks = {policy: look(policy) for policy in ["fgd", *PAPER_POLICIES]}
    for a, b in combinations(looks, 2):
        assert looks[a].colour != looks[b].colour
        assert (looks[a].dash, looks[a].marker) != (looks[b].dash, looks[b].marker)


def test_a_policy_that_is_not_known_has_a_look_of_its_own_that_stays():
    assert isinstance(look("mine"), Look)
    assert look("mine") == look("mine") == look("MINE")
    assert look("mine").colour not in {look(policy).colour for policy in PAPER_POLICIES}


def test_the_colour_of_a_mix_goes_from_sky_blue_to_that_of_pwr():
    assert look("pwr:0.001+fgd:0.999").colour == look("pwr:0.01+fgd:0.99").colour
    assert look("pwr:0.1+fgd:0.9").colour == "#0072b2"
    # Between 0.7 (#a52c62) and 1 (#d55e00), one third of the way: a5 + (d5 - a5) / 3 = b5.
    assert look("pwr:0.8+fgd:0.2").colour[:3] == "#b5"


def test_legends_list_the_baseline_then_mixes_by_share_then_the_others_and_the_bound_last():
    shuffled = ["bound", "random", "pwr", "mine", "pwr:0.2+fgd:0.8", "bestfit", "fgd", "pwr:0.05+fgd:0.95"]
    ordered = ["fgd", "pwr:0.05+fgd:0.95", "pwr:0.2+fgd:0.8", "pwr", "mine", "bestfit", "random", "bound"]
    assert sorted(shuffled, key=rank) == ordered


def test_the_mixes_of_the_paper_differ_in_hue_or_lightness_and_in_their_dashes():
    looks = [look(policy) for policy in ("pwr:0.05+fgd:0.95", "pwr:0.1+fgd:0.9", "pwr:0.2+fgd:0.8")]
    assert len({one.dash for one in looks}) == len({one.marker for one in looks}) == 3
    for shade in ("colour", "colour_dark"):
        for a, b in combinations([getattr(one, shade) for one in looks], 2):
            channels = [(int(a[i : i + 2], 16), int(b[i : i + 2], 16)) for i in (1, 3, 5)]
            assert sum(abs(x - y) for x, y in channels) > 120  # three blues were as near as 92
