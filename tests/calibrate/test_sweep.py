"""The measurement on a made-up GPU whose curve is known."""

from __future__ import annotations

import pytest

from calibrate.made_gpu import MadeGpu
from wattpack.calibrate.sweep import CONTEXT, IDLE, SPACE, TIME, Reading, steps, sweep
from wattpack.errors import UserError


def linear(time_share: float, space_share: float) -> float:
    return 118.5 + (695 - 118.5) * time_share * space_share


def measured(gpu: MadeGpu, shares: int = 4, said: list[str] | None = None) -> list[Reading]:
    return sweep(gpu, gpu, gpu, gpu, 5.0, shares, (said if said is not None else []).append)


def test_every_state_is_read_in_its_own_window() -> None:
    readings = measured(MadeGpu(linear))
    assert [reading.kind for reading in readings] == [IDLE, CONTEXT, *[TIME] * 4, *[SPACE] * 4]
    assert [reading.share for reading in readings[2:]] == pytest.approx([*steps(4), *steps(4)])
    expected = [76.0, 118.5, *(linear(share, 1) for share in steps(4)), *(linear(1, share) for share in steps(4))]
    assert [reading.watts for reading in readings] == pytest.approx(expected, rel=0.001)


def test_without_an_energy_counter_the_mean_of_samples_is_taken() -> None:
    readings = measured(MadeGpu(linear, has_counter=False))
    assert readings[0].watts == pytest.approx(76.0)
    assert readings[-1].watts == pytest.approx(695.0)


def test_bare_idle_is_read_before_any_context_is_made() -> None:
    gpu = MadeGpu(linear)
    lines: list[str] = []
    sweep(gpu, gpu, gpu, gpu, 5.0, 2, lambda text: lines.append(f"{text.split()[0]} {gpu.calls}"))
    assert lines[0] == "idle []"
    assert lines[1] == "context ['open']"


def test_idle_is_read_once_the_gpu_has_cooled_down() -> None:
    """40 W more at the start fall by half every 5 s: the first window alone would have read some 104 W."""
    readings = measured(MadeGpu(linear, warm_w=40.0))
    assert readings[0].watts == pytest.approx(76.0, rel=0.01)


def test_a_gpu_that_never_settles_is_read_after_the_longest_wait_and_that_is_said() -> None:
    said: list[str] = []

    class Restless(MadeGpu):
        def watts(self) -> float:
            return super().watts() * (1 + (self.now_s // 5) % 2)

    assert len(measured(Restless(linear), said=said)) == 10
    assert any("still changes after 90 s" in line for line in said)


def test_a_gpu_that_others_use_is_refused_before_anything_is_done() -> None:
    gpu = MadeGpu(linear, others=2)
    with pytest.raises(UserError, match="NVIDIA H200: 2 processes use it, expected a GPU that nothing else uses"):
        measured(gpu)
    assert (gpu.now_s, gpu.calls) == (0.0, [])


def test_a_process_that_comes_during_the_measurement_makes_it_void() -> None:
    gpu = MadeGpu(linear)

    def say(text: str) -> None:
        gpu.others = 1

    with pytest.raises(UserError, match="another process began to use it"):
        sweep(gpu, gpu, gpu, gpu, 5.0, 2, say)


def test_a_load_that_cannot_pick_multiprocessors_skips_that_sweep_and_says_so() -> None:
    said: list[str] = []
    readings = measured(MadeGpu(linear, picks_multiprocessors=False), said=said)
    assert SPACE not in {reading.kind for reading in readings}
    assert "cannot pick multiprocessors" in said[-1]


def test_the_share_is_the_one_that_the_load_reached() -> None:
    class Slow(MadeGpu):
        def busy_s(self) -> float:
            return 0.9 * super().busy_s()

    readings = measured(Slow(linear))
    assert [reading.share for reading in readings if reading.kind == TIME] == pytest.approx([0.225, 0.45, 0.675, 0.9])
