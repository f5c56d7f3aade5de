"""From readings to the entry of a power file."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from calibrate.made_gpu import MadeGpu
from wattpack.calibrate.entry import calibration
from wattpack.calibrate.fit import curve, fit_power_law, not_falling
from wattpack.calibrate.power_text import read_existing, refuse_known, with_entries, write_entries
from wattpack.calibrate.readings_file import COLUMNS, Readings, read_readings
from wattpack.calibrate.sweep import sweep
from wattpack.errors import UserError
from wattpack.model.power_file import GpuItem, parse_power
from wattpack.model.power_overlay import lay_over

TODAY = datetime.date(2026, 11, 16)


def concave(time_share: float, space_share: float) -> float:
    """By time as matrix products on an H200, by multiprocessors linear."""
    return 118.5 + (695 - 118.5) * time_share**0.7 * space_share


def measured() -> Readings:
    gpu = MadeGpu(concave)
    return Readings(gpu.name, gpu.limit_w, tuple(sweep(gpu, gpu, gpu, gpu, 5.0, 10, lambda text: None)))


def test_the_entry_holds_idle_the_curve_and_the_error_of_the_fit() -> None:
    done = calibration(measured(), "time", TODAY)
    item = done.item
    assert (item.idle_w, item.limit_w, item.confidence, item.samples) == (76.0, 700.0, "curve", 22)
    assert item.points is not None
    assert item.points[0] == (0.0, 118.5)
    assert item.points[5] == (0.5, pytest.approx(118.5 + 576.5 * 0.5**0.7, abs=0.6))
    assert item.points[-1] == (1.0, pytest.approx(695, abs=0.7))
    assert item.fit_error_w == pytest.approx(0, abs=0.5)
    assert done.laws["time"].exponent == pytest.approx(0.7, abs=0.01)
    assert done.laws["multiprocessors"].exponent == pytest.approx(1.0, abs=0.01)
    assert "share ** 0.70" in done.comment
    assert "share ** 1.00" in done.comment
    assert item.source == "wattpack calibrate gpu, 2026-11-16, by share of the time, load NVIDIA H200"


def test_the_curve_is_that_of_the_sweep_that_was_asked_for() -> None:
    points = calibration(measured(), "multiprocessors", TODAY).item.points
    assert points is not None
    assert points[5] == (0.5, pytest.approx((118.5 + 695) / 2, abs=0.6))


def test_a_power_file_with_the_entry_gives_the_watts_that_were_measured() -> None:
    """Nothing on it 76 W; at half of the time 118.5 + 576.5 x 0.5 ** 0.7 = 473.4 W."""
    text = with_entries("", {"H200": calibration(measured(), "time", TODAY).item}, {})
    draw_w = lay_over(parse_power(text.encode(), "t"), "t", "t").profile.gpu("H200").draw_mw() / 1000
    assert draw_w[0] == 76.0
    assert draw_w[[1, 500, 1000]] == pytest.approx([118.5, 473.4, 695.0], rel=0.01)


def test_a_sweep_that_was_skipped_gives_no_curve() -> None:
    found = measured()
    by_time = found._replace(readings=tuple(r for r in found.readings if r.kind != "multiprocessors"))
    with pytest.raises(UserError, match="--by multiprocessors: no readings of it, expected time"):
        calibration(by_time, "multiprocessors", TODAY)


def test_the_power_law_is_found_again() -> None:
    shares = [0.1, 0.3, 0.5, 0.8, 1.0]
    law = fit_power_law(100, [(share, 100 + 400 * share**0.6) for share in shares])
    assert (law.max_w, law.exponent) == (pytest.approx(500), pytest.approx(0.6, abs=1e-4))
    assert law.worst_w < 0.01


def test_noise_is_the_error_of_the_fit() -> None:
    law = fit_power_law(100, [(0.25, 205), (0.5, 295), (0.75, 405), (1.0, 495)])
    assert 3 < law.error_w < 6
    assert law.worst_w >= law.error_w


def test_watts_that_fall_are_pooled_with_their_neighbours() -> None:
    assert not_falling([1, 3, 2, 4]) == [1, 2.5, 2.5, 4]
    assert not_falling([3, 2, 1]) == [2, 2, 2]


def test_a_curve_starts_at_the_context_and_ends_at_a_share_of_one() -> None:
    """The last reading is the full load, whatever share it reached; a share that is measured twice counts once."""
    points = [(0.5, 200.0), (0.5004, 201.0), (0.97, 190.0)]
    assert curve(100.0, points) == [(0.0, 100.0), (0.5, 195.5), (1.0, 195.5)]


def test_readings_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    found = measured()
    file = tmp_path / "readings.csv"
    file.write_text("\n".join(",".join(map(str, row)) for row in [COLUMNS, *found.rows()]) + "\n")
    read = read_readings(file)
    assert (read.gpu, read.limit_w, len(read.readings)) == ("NVIDIA H200", 700.0, 22)
    assert calibration(read, "time", TODAY).item == calibration(found, "time", TODAY).item


HEAD = ",".join(COLUMNS)
IDLE_ROW = "idle,0,76,345,30,,NVIDIA H200,700"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "readings of 0 GPU models"),
        (HEAD + "\n", "readings of 0 GPU models"),
        ("a,b\n1,2\n", "line 2: not a reading, expected kind,share,watts"),
        (f"{HEAD}\n{IDLE_ROW}\nidle,0,x,345,30,,NVIDIA H200,700\n", "line 3: not a reading"),
        (f"{HEAD}\nidle,2,76,345,30,,NVIDIA H200,700\n", "line 2: not a reading"),
        (f"{HEAD}\nidle,nan,76,345,30,,NVIDIA H200,700\n", "line 2: not a reading"),
        (f"{HEAD}\nother,0,76,345,30,,NVIDIA H200,700\n", "line 2: not a reading"),
        (f"{HEAD}\nidle,0,76\n", "line 2: not a reading"),
        (f"{HEAD}\n{IDLE_ROW}\n{IDLE_ROW.replace('H200', 'L4')}\n", "readings of 2 GPU models, expected those of one"),
        (f"{HEAD}\n{IDLE_ROW}\n", "no reading of kind context, expected one"),
        ("\0" * 10, "expected"),
    ],
)
def test_a_file_of_readings_that_is_none_is_one_line(text: str, line: str, tmp_path: Path) -> None:
    file = tmp_path / "readings.csv"
    file.write_text(text)
    with pytest.raises(UserError, match=line) as fault:
        read_readings(file)
    assert str(fault.value).startswith(str(file))


def test_an_entry_is_added_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "power.toml"
    file.write_text('# ours\nprofile = "measured"\n\n[gpu."X1"]  # the small one\nidle_w = 10\nmax_w = 50\n')
    before = read_existing(file)
    write_entries(file, with_entries(before, {"H200": GpuItem(idle_w=76, max_w=695)}, {"H200": "measured\nby us"}))
    text = file.read_text()
    assert text.startswith(before.rstrip())
    assert '# measured\n# by us\n[gpu."H200"]' in text
    assert set(parse_power(file.read_bytes(), "x").gpu) == {"X1", "H200"}


def test_an_entry_that_is_there_already_is_not_replaced(tmp_path: Path) -> None:
    file = tmp_path / "power.toml"
    file.write_text('[gpu."H200"]\nidle_w = 10\n')
    with pytest.raises(UserError, match=r'has an entry \[gpu."H200"\] already, expected a file without it'):
        refuse_known(read_existing(file), file, {"H200", "L4"})


def test_a_file_that_is_no_power_file_is_not_added_to(tmp_path: Path) -> None:
    file = tmp_path / "power.toml"
    file.write_text("nonsense = 1\n")
    with pytest.raises(UserError, match="nonsense"):
        read_existing(file)
