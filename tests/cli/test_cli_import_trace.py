"""`wattpack import-trace` through its front door, in every format, and the commands of the guide."""

from __future__ import annotations

import json
import math
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from datasets.trace_files import FILES, HELIOS, pod
from wattpack.answers.import_trace import FORMATS
from wattpack.cli import main
from wattpack.cli.commands.import_trace import import_trace_command
from wattpack.datasets.timed_files import has_times, read_timed_tasks

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "traces.md"
Captured = pytest.CaptureFixture[str]


def write(folder: Path, name: str) -> Path:
    file = folder / FILES[name][0]
    file.write_text(FILES[name][1], encoding="utf-8")
    return file


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_becomes_a_file_with_times_that_is_read_again(name: str, tmp_path: Path, capsys: Captured) -> None:
    out = tmp_path / "tasks.csv"
    main(["import-trace", name, str(write(tmp_path, name)), "--out", str(out)])
    assert has_times(out)
    tasks = read_timed_tasks(out)
    shown = capsys.readouterr().out
    assert shown.startswith(f"read      {len(tasks)} tasks of ")
    assert all(f"assumed   {text[:20]}" in shown for text in FORMATS[name].assumptions if "{" not in text[:20])
    assert f"wrote     {out}" in shown


def test_pods_become_tasks_with_the_times_they_ran(tmp_path: Path, capsys: Captured) -> None:
    main(["import-trace", "kubernetes", str(write(tmp_path, "kubernetes")), "--out", str(tmp_path / "tasks.csv")])
    tasks = read_timed_tasks(tmp_path / "tasks.csv")
    assert tasks.workload.task_names == ("team/train", "team/serve")
    assert tasks.duration_s.tolist() == [1800, math.inf]  # 10:01 to 10:31, when the last container ended
    assert tasks.batch.tolist() == [True, False]
    assert tasks.service_class == ("Guaranteed", "Guaranteed")
    assert tasks.workload.classes[0][:4] == (4000, 8192, 1, 1000)
    shown = capsys.readouterr().out
    assert "no tasks  1 items: pods that have not started" in shown
    assert "no tasks  1 items: pods of DaemonSets and static pods" in shown


def test_pods_that_cannot_be_read_are_refused_by_their_number(tmp_path: Path, capsys: Captured) -> None:
    bad = [
        pod("no-end", "Failed", startTime="2026-03-01T10:00:00Z"),
        pod("odd", "Running", startTime="2026-03-01T10:00:00Z") | {"spec": {"containers": [{"resources": 3}]}},
        pod("halves", "Running", startTime="2026-03-01T10:00:00Z")
        | {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "0.5"}}}]}},
    ]
    good = pod("good", "Running", startTime="2026-03-01T10:00:00Z")
    (tmp_path / "pods.json").write_text(json.dumps({"kind": "PodList", "items": [*bad, good]}))
    main(["import-trace", "kubernetes", str(tmp_path / "pods.json")])
    shown = capsys.readouterr().out
    assert shown.startswith("read      1 tasks of 1 jobs")
    assert "refused   3 items\n          item 1: a finished pod without finishedAt" in shown
    assert "          item 2: " in shown
    assert "          item 3: pod team/halves: " in shown


def test_refused_lines_are_counted_and_the_first_ones_named(tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "log.csv"
    file.write_text(HELIOS + "bad\n" * 7)
    main(["import-trace", "helios", str(file)])
    shown = capsys.readouterr().out
    assert "refused   7 lines\n          line 5: 1 cells, expected 12\n" in shown
    assert "          and 2 more\n" in shown


def test_strict_writes_nothing_where_a_line_is_refused(tmp_path: Path, capsys: Captured) -> None:
    file, out = tmp_path / "log.csv", tmp_path / "tasks.csv"
    file.write_text(HELIOS + "bad\n")
    with pytest.raises(SystemExit) as ended:
        main(["import-trace", "helios", str(file), "--out", str(out), "--strict"])
    assert ended.value.code == 2
    assert "log.csv, line 5: 1 cells, expected 12 (1 of 4 lines refused)" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nosuch", "x"], "unknown format 'nosuch', expected one of alibaba2025"),
        (["swf"], "import-trace swf: no file, expected Standard Workload Format"),
        (["swf", "missing"], "missing: cannot be read"),
        (["helios", "log.csv", "--out", "log.csv"], "is the input"),
        (["helios", "log.csv", "--vcpu-per-gpu", "0"], "vcpu_per_gpu 0, expected above 0"),
        (["helios", "log.csv", "--time-zone", "Mars/Crater"], "time zone 'Mars/Crater': unknown"),
    ],
)
def test_bad_words_are_one_line(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text(HELIOS)
    with pytest.raises(SystemExit) as ended:
        main(["import-trace", *words])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_where_the_clock_is_known_it_is_in_the_file(tmp_path: Path) -> None:
    out = tmp_path / "tasks.csv"
    main(["import-trace", "helios", str(write(tmp_path, "helios")), "--out", str(out)])
    assert read_timed_tasks(out).start == datetime(2020, 5, 31, 23, 30, tzinfo=UTC)
    main(["import-trace", "philly", str(write(tmp_path, "philly")), "--out", str(out)])
    assert read_timed_tasks(out).start is None


def test_tasks_on_standard_output_have_the_words_on_stderr(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    main(["import-trace", "swf", str(write(tmp_path, "swf")), "--processors-per-gpu", "8", "--out", "-"])
    found = capfdbinary.readouterr()
    assert found.out.startswith(b"name,cpu_milli,")
    assert found.out.count(b"\n") == 4
    assert found.err.startswith(b"read  ")


def test_without_words_and_in_the_help_all_formats_are_listed(capsys: Captured) -> None:
    main(["import-trace"])
    shown = capsys.readouterr().out
    assert [line.partition(":")[0] for line in shown.splitlines() if not line.startswith(" ")] == list(FORMATS)
    named = re.findall(r"[a-z]+(?:-[a-z]+)?\d*", str(import_trace_command.__doc__))
    assert set(FORMATS) <= set(named)


def test_the_guides_commands_run_in_the_order_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """The page "traces.md": every command on small files of the names that the page gives, its formats, its Python."""
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text(encoding="utf-8")
    for name in FORMATS:
        assert f"`{name}`" in text
        write(tmp_path, name)
    (python,) = re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    exec(python, {})
    (csv_file,) = re.findall(r"^```csv\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    (tmp_path / "own.csv").write_text(csv_file)
    assert read_timed_tasks(tmp_path / "own.csv").slack_s.tolist() == [21_600, 0]
    blocks = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("wattpack ")]
    assert len(lines) >= 6
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        capsys.readouterr()
        main(words)
        if "drawn.csv" in words:
            assert f"```text\n{capsys.readouterr().out}```" in text
        if "--out" in words:
            assert (tmp_path / words[words.index("--out") + 1]).is_file()
