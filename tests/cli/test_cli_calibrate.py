"""`wattpack calibrate`: from a GPU or a Prometheus to a power file, through the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from calibrate.made_gpu import MadeGpu
from calibrate.server import Answer, Asked, matrix, serving
from wattpack.calibrate import fleet_fit
from wattpack.calibrate import measure as measuring
from wattpack.cli import main


def linear(time_share: float, space_share: float) -> float:
    return 118.5 + (695 - 118.5) * time_share * space_share


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> MadeGpu:
    """The GPU of this machine is made up, and so is its time."""
    made = MadeGpu(linear)
    monkeypatch.setattr(measuring, "NvmlMeter", lambda index: made)
    monkeypatch.setattr(measuring, "DutyCycle", lambda names: made)
    monkeypatch.setattr(measuring, "Clock", lambda: made)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return made


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    lines = capsys.readouterr().err.strip().splitlines()
    return lines[-1]


def test_a_gpu_becomes_an_entry_of_a_power_file(
    gpu: MadeGpu, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, readings = tmp_path / "power.toml", tmp_path / "readings.csv"
    main(["calibrate", "gpu", "--out", str(out), "--readings", str(readings)])
    entry = tomllib.loads(out.read_text())["gpu"]["H200"]
    assert entry["idle_w"] == 76.0
    assert entry["points"][0] == [0, 118.5]
    assert entry["points"][-1] == [1, pytest.approx(695, abs=1)]
    assert entry["fit_error_w"] < 1
    assert "H200: idle 76.0 W, idle context 118.5 W" in capsys.readouterr().out
    assert len(readings.read_text().splitlines()) == 1 + 2 + 20
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-0"


def test_readings_are_fitted_again_without_a_gpu(
    gpu: MadeGpu, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readings = tmp_path / "readings.csv"
    main(["calibrate", "gpu", "--readings", str(readings)])
    first = capsys.readouterr().out
    main(["calibrate", "gpu", "--again", str(readings)])
    assert capsys.readouterr().out == first
    main(["calibrate", "gpu", "--again", str(readings), "--model", "Mine", "--by", "multiprocessors"])
    assert set(tomllib.loads(capsys.readouterr().out)["gpu"]) == {"Mine"}


def test_an_entry_that_is_there_is_refused_before_anything_is_measured(
    gpu: MadeGpu, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "power.toml"
    out.write_text('[gpu."H200"]\nidle_w = 1\n')
    assert "has an entry" in refused(["calibrate", "gpu", "--out", str(out)], capsys)
    assert gpu.now_s == 0
    assert out.read_text() == '[gpu."H200"]\nidle_w = 1\n'


def test_a_load_that_breaks_leaves_no_file(gpu: MadeGpu, tmp_path: Path) -> None:
    gpu.fails_at = 0.5
    with pytest.raises(RuntimeError, match="the load broke"):
        main(["calibrate", "gpu", "--out", str(tmp_path / "power.toml"), "--readings", str(tmp_path / "r.csv")])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--load", "x"], "--load 'x', expected one of auto, torch, cupy, driver, numba"),
        (["--by", "x"], "--by 'x', expected one of time, multiprocessors"),
        (["--seconds", "0"], "--seconds 0, expected 1 to 300"),
        (["--seconds", "nan"], "--seconds nan, expected 1 to 300"),
        (["--shares", "1"], "--shares 1, expected 2 to 100"),
        (["--again", "r.csv", "--readings", "s.csv"], "--again and --readings, expected one of them"),
        (["--again", "nosuch.csv"], "nosuch.csv: No such file or directory, expected a file of --readings"),
        (["--out", "nosuch/power.toml"], "--out nosuch/power.toml: cannot be written"),
    ],
)
def test_a_wrong_option_is_one_line(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert line in refused(["calibrate", "gpu", *words], capsys)


def test_ctrl_c_ends_a_measurement_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    """The made-up GPU sleeps as long as a real one would."""
    code = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from calibrate.made_gpu import MadeGpu
from wattpack.calibrate import measure
from wattpack.calibrate.meter import Clock
made = MadeGpu(lambda time_share, space_share: 100.0)
measure.NvmlMeter = lambda index: made
measure.DutyCycle = lambda names: made
sys.argv = ["wattpack", "calibrate", "gpu", "--out", "power.toml", "--readings", "readings.csv"]
from wattpack.cli import main
main()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("GPU 0: NVIDIA H200")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


MODULE = "wattpack.calibrate"


def test_where_only_python_is_the_module_measures_and_needs_no_other_package() -> None:
    """What a machine with a GPU may lack: none of our requirements is imported."""
    code = (
        f"import sys, runpy; sys.argv = ['x', '--help']\ntry: runpy.run_module({MODULE!r}, run_name='__main__')\n"
        "except SystemExit: pass\n"
        "print([name for name in ('numpy', 'numba', 'msgspec', 'cyclopts', 'rich') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_without_a_gpu_the_module_says_so_in_one_line(tmp_path: Path) -> None:
    words = [sys.executable, "-m", MODULE, str(tmp_path / "readings.csv"), "--gpu", "99"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def told(asked: Asked) -> Answer:
    """40 T4: 10 free, 5 idle contexts, the others at shares that go round."""
    at = range(int(asked["start"]), int(asked["end"]) + 1, int(asked["step"]))
    rng = np.random.default_rng(0)
    series = []
    for gpu in range(40):
        shares = [0.0 if gpu < 15 else ((gpu + 7 * step) % 20 + 1) / 20 for step in range(len(at))]
        watts = [10.0 if gpu < 10 else 28 + 42 * share for share in shares]
        values = {
            "POWER": [w + rng.normal(0, 0.5) for w in watts],
            "UTIL": shares,
            "FB_USED": [3.0 if gpu < 10 else 900.0] * len(at),
        }
        found = next(values[name] for name in values if name in asked["query"])
        labels = {"UUID": f"GPU-{gpu}", "modelName": "Tesla T4", "Hostname": "n0"}
        series.append((labels, list(zip(at, map(str, found), strict=True))))
    return matrix(series)


def test_a_prometheus_becomes_entries_of_a_power_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, token = tmp_path / "power.toml", tmp_path / "token"
    out.write_text('profile = "measured"\n')
    token.write_text("secret\n")
    with serving(told) as (address, asked):
        main(["calibrate", "prometheus", address, "--last", "20m", "--out", str(out), "--token-file", str(token)])
    entry = tomllib.loads(out.read_text())["gpu"]["T4"]
    assert entry["idle_w"] == pytest.approx(10, rel=0.03)
    assert entry["context_w"] == pytest.approx(28, rel=0.03)
    assert entry["max_w"] == pytest.approx(70, rel=0.03)
    assert (entry["samples"], entry["confidence"]) == (800, "fit")
    assert entry["fit_error_w"] == pytest.approx(0.5, abs=0.1)
    assert all(question["Authorization"] == "Bearer secret" for question in asked)
    assert "secret" not in "".join(capsys.readouterr())


def test_a_file_that_takes_no_entry_is_one_line_before_anything_is_asked_or_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "power.toml"
    with serving(told) as (address, asked):
        words = ["calibrate", "prometheus", address, "--last", "20m", "--out", str(out)]
        out.write_text("sn,cpu_milli\n")
        assert "power.toml: Expected '='" in refused(words, capsys)
        assert asked == []
        out.write_text("[gpu.T4]\nidle_w = 9\n")
        with pytest.raises(SystemExit):
            main(words)
    assert capsys.readouterr().out == ""
    assert out.read_text() == "[gpu.T4]\nidle_w = 9\n"


def test_without_out_the_entries_are_the_only_data_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(told) as (address, _):
        main(["calibrate", "prometheus", address, "--last", "20m", "--end", "2026-11-16T12:00:00Z"])
    said = capsys.readouterr()
    assert tomllib.loads(said.out)["gpu"]["T4"]["source"] == (
        "wattpack calibrate prometheus, 2026-11-16T11:41Z to 2026-11-16T12:00Z, share by utilisation"
    )
    assert "largest share" in said.err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["http://127.0.0.1:1"], "http://127.0.0.1:1: "),
        (["nowhere"], "'nowhere': not an address"),
        (["http://h", "--last", "x"], "--last 'x', expected a time like 90s"),
        (["http://h", "--last", "400w", "--step", "1s"], "--last 400w with --step 1s, expected 1 to 100,000 steps"),
        (["http://h", "--last", "1s", "--step", "1m"], "--last 1s with --step 1m, expected 1 to 100,000 steps"),
        (["http://h", "--end", "yesterday"], "--end 'yesterday', expected a time like 2026-11-16T12:00:00Z"),
        (["http://h", "--timeout-seconds", "0"], "--timeout-seconds 0, expected above 0"),
        (["http://h", "--token-file", "nosuch"], "nosuch: No such file or directory, expected a token"),
    ],
)
def test_a_wrong_question_is_one_line(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert line in refused(["calibrate", "prometheus", *words], capsys)


def test_samples_that_tell_nothing_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_fit, "LEAST_SAMPLES", 1000)
    out = tmp_path / "power.toml"
    with serving(told) as (address, _):
        words = ["calibrate", "prometheus", address, "--last", "1m", "--step", "1m", "--out", str(out)]
        assert "no model has enough samples" in refused(words, capsys)
    assert not out.exists()
