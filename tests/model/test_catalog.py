"""The catalog's entries are whole or say what is missing, and every profile follows from them."""

from __future__ import annotations

import pytest

from wattpack.datasets import alibaba2023
from wattpack.errors import UserError
from wattpack.model.catalog import CPUS, CURVE, GPUS, IDLE, LIMIT, PAPER_NAMES, READINGS, SIBLING
from wattpack.model.power import CONCAVE, LINEAR, MEASURED, PAPER, PROFILES, PowerProfile


@pytest.mark.parametrize("model", GPUS)
def test_an_entry_says_how_much_is_known_of_it(model: str) -> None:
    gpu = GPUS[model]
    known = (gpu.idle_w is not None, gpu.context_w is not None)
    whole = dict.fromkeys((CURVE, READINGS, SIBLING), (True, True))
    assert known == (whole | {IDLE: (True, False), LIMIT: (False, False)})[gpu.confidence]
    assert gpu.source
    assert 0 < (gpu.idle_w or 1) <= (gpu.context_w or gpu.limit_w) <= gpu.limit_w


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_every_profile_has_the_papers_models_and_all_of_the_catalog_with_an_idle_reading(profile: PowerProfile) -> None:
    assert set(profile.known_gpus) == set(PAPER.gpus) | {name for name, gpu in GPUS.items() if gpu.idle_w is not None}
    assert set(profile.cpus) == {"Xeon E5-2682 v4"} | {name for name, cpu in CPUS.items() if cpu.idle_w is not None}


def test_a_model_of_which_only_the_limit_is_known_has_no_watts() -> None:
    for profile in PROFILES.values():
        with pytest.raises(UserError, match="unknown GPU model 'GB300'"):
            profile.gpu("GB300")
        with pytest.raises(UserError, match="unknown CPU model 'EPYC 9654'"):
            profile.cpu("EPYC 9654")


def test_the_papers_models_keep_the_papers_watts_where_the_catalog_has_others() -> None:
    """The catalog reads an A10 at 12 W idle, the paper says 30."""
    assert (PAPER.gpu("A10").idle_w, LINEAR.gpu("A10").idle_w, CONCAVE.gpu("A10").idle_w) == (30, 30, 30)
    assert (MEASURED.gpu("A10").idle_w, MEASURED.gpu("G2").idle_w) == (12, 12)


def test_an_h100_under_each_profile() -> None:
    """70 idle, 119 context, 700 limit. At a half: step 700, linear 70 + 630 / 2, measured 119 + (490 - 119) / 2."""
    h100 = {
        name: profile.gpu("H100-80GB-HBM3").draw_mw()[[0, 500, 1000]].tolist() for name, profile in PROFILES.items()
    }
    assert h100["paper"] == [70_000, 700_000, 700_000]
    assert h100["linear"] == [70_000, 385_000, 700_000]
    assert h100["concave"] == [70_000, round(70_000 + 630_000 * 0.5**0.7), 700_000]
    assert h100["measured"] == [70_000, 304_500, 490_000]


def test_without_a_reading_of_it_a_context_costs_nothing() -> None:
    """A P100 idles at 28 W; 28 + (0.7 * 250 - 28) * 0.001 for the smallest share."""
    assert MEASURED.gpu("P100").draw_mw()[[0, 1, 1000]].tolist() == [28_000, 28_147, 175_000]


def test_the_built_in_datacenter_has_watts_under_every_profile() -> None:
    nodes = alibaba2023.datacenter()
    for profile in PROFILES.values():
        assert all(profile.gpu(model) for model in nodes.models if model)
    assert set(PAPER_NAMES) == set(PAPER.gpus)
