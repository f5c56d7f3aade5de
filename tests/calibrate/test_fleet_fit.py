"""Idle, context and slope are found again in samples with noise and outliers."""

from __future__ import annotations

import numpy as np
import pytest

from wattpack.calibrate.fleet import Samples
from wattpack.calibrate.fleet_fit import FleetFit, fit_model, robust_line

IDLE, CONTEXT, FULL = 70.0, 119.0, 640.0
WITHIN = 0.03  # of the true value


def samples(
    rng: np.random.Generator, noise_w: float = 8.0, outliers: float = 0.0, known: bool = True, count: int = 4000
) -> Samples:
    """A third of the GPUs are free, a sixth idles in a context, the others are used at random shares."""
    state = rng.integers(0, 6, count)
    share = np.where(state >= 3, rng.uniform(0.02, 1.0, count), 0.0)
    watts = np.where(state < 2, IDLE, CONTEXT + (FULL - CONTEXT) * share) + rng.normal(0, noise_w, count)
    wrong = rng.random(count) < outliers
    watts[wrong] = rng.uniform(50, 700, int(wrong.sum()))
    held = np.where(state >= 2, 1, 0).astype(np.int8) if known else np.full(count, -1, dtype=np.int8)
    return Samples(40, share, watts, held, by_node=False)


def is_found_again(fit: FleetFit) -> bool:
    pairs = [(fit.idle_w, IDLE), (fit.context_w, CONTEXT), (fit.max_w, FULL)]
    return all(value is not None and abs(value - true) <= WITHIN * true for value, true in pairs)


@pytest.mark.parametrize("known", [True, False], ids=["memory known", "memory not known"])
@pytest.mark.parametrize("outliers", [0.0, 0.05, 0.2])
@pytest.mark.parametrize("noise_w", [0.0, 2.0, 15.0])
def test_the_true_curve_is_found_again_within_three_percent(noise_w: float, outliers: float, known: bool) -> None:
    for seed in range(5):
        assert is_found_again(fit_model(samples(np.random.default_rng(seed), noise_w, outliers, known)))


@pytest.mark.parametrize(("halved", "least", "most"), [(0.1, 0.025, 0.055), (0.2, 0.075, 0.115)])
def test_wrong_samples_within_the_noise_lower_the_idle_watts_as_the_guide_says(
    halved: float, least: float, most: float
) -> None:
    """A T4 of 10, 28 and 70 W whose readings vary by 2 W: 5 W instead of 10 are 2.5 deviations away."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        state = rng.integers(0, 6, 4000)
        share = np.where(state >= 3, rng.uniform(0.02, 1.0, 4000), 0.0)
        watts = np.where(state < 2, 10.0, 28.0 + 42.0 * share) + rng.normal(0, 2.0, 4000)
        watts[rng.random(4000) < halved] *= 0.5
        fit = fit_model(Samples(40, share, watts, np.where(state >= 2, 1, 0).astype(np.int8), by_node=False))
        assert fit.idle_w is not None
        assert least < 1 - fit.idle_w / 10 < most
        assert fit.context_w == pytest.approx(28, rel=0.01)
        assert fit.max_w == pytest.approx(70, rel=0.01)


def test_plain_least_squares_would_not_do() -> None:
    """The reason for weights: a fifth of outliers moves a least-squares line by more than 3 %."""
    found = samples(np.random.default_rng(1), 8.0, 0.2)
    used = found.held == 1
    slope, base = np.polyfit(found.share[used], found.watts[used], 1)
    assert abs(base + slope - FULL) > WITHIN * FULL


def test_the_error_is_that_of_the_noise_and_outliers_are_counted() -> None:
    fit = fit_model(samples(np.random.default_rng(0), 8.0))
    assert fit.error_w == pytest.approx(8.0, rel=0.1)
    assert fit.outliers < 0.01
    assert fit_model(samples(np.random.default_rng(0), 8.0, 0.2)).outliers > 0.1
    assert (fit.gpus, fit.samples) == (40, 4000)


def test_too_few_samples_tell_no_slope_and_say_so() -> None:
    fit = fit_model(samples(np.random.default_rng(0), count=20))
    assert (fit.idle_w, fit.context_w, fit.max_w) == (None, None, None)
    assert "expected 30 or more" in fit.why


def test_gpus_that_are_all_equally_busy_tell_no_slope() -> None:
    busy = Samples(4, np.full(500, 0.97), np.full(500, 600.0), np.ones(500, dtype=np.int8), by_node=False)
    assert fit_model(busy).why == "all shares in use are near 0.97, expected a range of 0.2 or more"


def test_idle_gpus_alone_tell_idle() -> None:
    free = Samples(4, np.zeros(500), np.full(500, 28.0), np.zeros(500, dtype=np.int8), by_node=False)
    assert (fit_model(free).idle_w, fit_model(free).max_w) == (28.0, None)


def test_where_every_gpu_is_held_and_that_is_not_known_idle_is_not_told() -> None:
    found = samples(np.random.default_rng(0), known=False)
    held = found.watts > 90  # without the free GPUs
    fit = fit_model(Samples(40, found.share[held], found.watts[held], found.held[held], by_node=False))
    assert fit.idle_w is None
    assert fit.context_w == pytest.approx(CONTEXT, rel=WITHIN)


def test_watts_that_do_not_follow_the_share_are_no_curve() -> None:
    rng = np.random.default_rng(0)
    share = rng.uniform(0, 1, 1000)
    falling = Samples(4, share, 500 - 100 * share, np.ones(1000, dtype=np.int8), by_node=False)
    assert fit_model(falling).max_w is None
    assert "do not rise" in fit_model(falling).why


def test_shares_that_are_no_shares_are_left_out() -> None:
    good = samples(np.random.default_rng(0))
    odd = Samples(
        40,
        np.concatenate([good.share, [-1.0, 50.0, 100.0]]),
        np.concatenate([good.watts, [100.0, 600.0, 600.0]]),
        np.concatenate([good.held, np.ones(3, dtype=np.int8)]),
        by_node=False,
    )
    assert fit_model(odd) == fit_model(good)


def test_nodes_tell_idle_and_full_but_no_context() -> None:
    """8 GPUs a node, some in use at full: 70 + (640 - 70) x share."""
    rng = np.random.default_rng(0)
    share = rng.integers(0, 9, 2000) / 8
    watts = IDLE + (FULL - IDLE) * share + rng.normal(0, 5, 2000)
    fit = fit_model(Samples(160, share, watts, np.full(2000, -1, dtype=np.int8), by_node=True))
    assert fit.context_w is None
    assert fit.idle_w == pytest.approx(IDLE, rel=WITHIN)
    assert fit.max_w == pytest.approx(FULL, rel=WITHIN)


def test_a_line_without_noise_is_found_exactly() -> None:
    share = np.linspace(0, 1, 100)
    base, slope, error_w, outliers = robust_line(share, 100 + 300 * share)
    assert (base, slope) == (pytest.approx(100), pytest.approx(300))
    assert error_w == pytest.approx(0, abs=1e-6)
    assert outliers < 0.5
