"""What commands write, and what they refuse to write: before they run, in one line, exit code 2."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from cli.files import write_nodes, write_tasks
from wattpack.cli import COMMANDS, OUTPUTS, main, new_app

HEADER = "task,node,gpu_index"


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_nodes(tmp_path)
    write_tasks(tmp_path)
    return tmp_path


REPLAY = ["replay", "--nodes", "nodes.csv", "--tasks", "tasks.csv", "--policy", "fgd"]
DEFRAG = ["defrag", "--nodes", "nodes.csv", "--tasks", "tasks.csv", "--placements", "now.csv"]
DERIVE = ["derive", "tasks.csv", "--sharing", "50", "--against", "other.csv"]
BOUND = ["bound", "--datacenter", "nodes.csv", "--trace", "tasks.csv", "--loads", "0.5"]


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of a command that ends with 2."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr()
    lines = said.err.strip().splitlines()
    assert (ended.value.code, len(lines), said.out) == (2, 1, ""), said.err
    return lines[0]


@pytest.mark.parametrize(
    ("command", "option", "source"),
    [
        (REPLAY, "--decisions", "nodes.csv"),
        (REPLAY, "--series", "tasks.csv"),
        ([*REPLAY, "--target", "target.csv"], "--series", "target.csv"),
        ([*REPLAY, "--placements", "now.csv"], "--decisions", "now.csv"),
        ([*REPLAY, "--plugin", "own.py"], "--decisions", "own.py"),
        (DEFRAG, "--out", "now.csv"),
        (DEFRAG, "--placements-out", "now.csv"),
        (DERIVE, "--out", "tasks.csv"),
        (DERIVE, "--out", "other.csv"),
        (BOUND, "--out", "tasks.csv"),
        (BOUND, "--out", "nodes.csv"),
    ],
)
@pytest.mark.parametrize("by", ["its name", "another name", "a link", "a hard link"])
def test_an_output_that_is_an_input_is_refused_and_the_input_stays(
    inputs: Path, capsys: pytest.CaptureFixture[str], command: list[str], option: str, source: str, by: str
) -> None:
    main([*REPLAY, "--decisions", "now.csv"])
    (inputs / "own.py").touch()
    for copy in ("target.csv", "other.csv"):
        (inputs / copy).write_bytes((inputs / "tasks.csv").read_bytes())
    before = (inputs / source).read_bytes()
    given = {"its name": source, "another name": f"../{inputs.name}/{source}"}.get(by, "output.csv")
    if by == "a link":
        (inputs / given).symlink_to(source)
    elif by == "a hard link":
        os.link(inputs / source, inputs / given)
    said = refused([*command, option, given], capsys)
    assert option in said
    assert source in said
    assert (inputs / source).read_bytes() == before


def test_an_experiment_that_would_overwrite_itself_is_refused(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (inputs / "out").mkdir()
    text = '{"policy": ["fgd"], "datacenter": "../nodes.csv", "trace": "../tasks.csv", "seeds": 1}'
    (inputs / "out" / "experiment.json").write_text(text)
    assert "experiment.json" in refused(["run", "out/experiment.json", "--out", "out"], capsys)
    assert (inputs / "out" / "experiment.json").read_text() == text


@pytest.mark.parametrize("source", ["trace", "datacenter"])
def test_a_file_that_an_experiment_names_is_not_overwritten_by_its_results(
    inputs: Path, capsys: pytest.CaptureFixture[str], source: str
) -> None:
    named = {"datacenter": "nodes.csv", "trace": "tasks.csv"}
    before = (inputs / named[source]).read_bytes()
    (inputs / "summary.csv").write_bytes(before)
    named[source] = "summary.csv"
    (inputs / "e.toml").write_text('policy = "fgd"\nseeds = 1\n' + "".join(f'{k} = "{v}"\n' for k, v in named.items()))
    assert "is the input" in refused(["run", "e.toml", "--out", "."], capsys)
    assert (inputs / "summary.csv").read_bytes() == before


def test_the_list_that_is_read_beside_a_node_file_is_not_overwritten(
    inputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = "pod,node,resource\ndefault/claims,g2-a,gpu.example.com\n"
    (inputs / "not-understood.csv").write_text(listed)
    assert "is the input" in refused([*REPLAY, "--decisions", "not-understood.csv"], capsys)
    assert (inputs / "not-understood.csv").read_text() == listed


def test_an_open_descriptor_of_an_input_gets_nothing(inputs: Path) -> None:
    before = (inputs / "tasks.csv").read_bytes()
    with (inputs / "tasks.csv").open("ab") as opened:
        command = [sys.executable, "-m", "wattpack", *REPLAY, "--decisions", f"/dev/fd/{opened.fileno()}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, pass_fds=(opened.fileno(),))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert "is the input" in done.stderr
    assert (inputs / "tasks.csv").read_bytes() == before


@pytest.mark.parametrize("pair", [("a.csv", "a.csv"), ("a.csv", "./a.csv"), ("-", "-"), ("-", "/dev/stdout")])
def test_two_outputs_that_are_one_are_refused(
    inputs: Path, capsys: pytest.CaptureFixture[str], pair: tuple[str, str]
) -> None:
    assert "expected two files" in refused([*REPLAY, "--decisions", pair[0], "--series", pair[1]], capsys)
    assert not (inputs / "a.csv").exists()


def test_a_built_in_name_is_no_file(inputs: Path) -> None:
    (inputs / "default").write_text("of another time")
    main(["derive", "default", "--sharing", "50", "--out", "default"])
    assert (inputs / "default").read_text().startswith("name,cpu_milli")


def test_both_outputs_may_go_to_the_same_device(inputs: Path) -> None:
    main([*REPLAY, "--decisions", os.devnull, "--series", os.devnull])
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


@pytest.mark.parametrize("path", ["/", ".", "..", "nodes.csv/below", "no-folder/a.csv", "x" * 256, "y" * 5000])
def test_a_file_that_cannot_be_written_is_refused_before_the_run(
    inputs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("wattpack.cli.commands.replay.simulate", lambda *_: pytest.fail("it has run"))
    before = set(inputs.iterdir())
    assert "--decisions" in refused([*REPLAY, "--decisions", path], capsys)
    assert set(inputs.iterdir()) == before


FOLDERS = {
    "compare": ["compare", "--datacenter", "nodes.csv", "--trace", "tasks.csv"],
    "run": ["run", "experiment.toml"],
    "paper": ["paper", "--seeds", "1"],
    "tune": ["tune", "--datacenter", "nodes.csv", "--trace", "tasks.csv"],
    "import": ["import", "--file", "cluster.json"],
}


@pytest.mark.parametrize("command", FOLDERS)
@pytest.mark.parametrize("path", ["/", "-", "nodes.csv", "nodes.csv/below", "x" * 256, "new/" + "x" * 256])
def test_a_folder_that_cannot_be_one_is_refused_before_the_run(
    inputs: Path, capsys: pytest.CaptureFixture[str], command: str, path: str
) -> None:
    (inputs / "experiment.toml").write_text('policy = "fgd"\ndatacenter = "nodes.csv"\ntrace = "tasks.csv"\n')
    before = set(inputs.iterdir())
    assert "--out" in refused([*FOLDERS[command], "--out", path], capsys)
    assert set(inputs.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_rights_is_refused(inputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (inputs / "closed").mkdir(mode=0o500)
    assert "--decisions" in refused([*REPLAY, "--decisions", "closed/a.csv"], capsys)
    assert "--out" in refused([*FOLDERS["compare"], "--out", "closed/out"], capsys)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_a_folder_without_rights_is_refused_to_a_plain_user(inputs: Path) -> None:
    """The checks themselves, as a user who is not root."""
    (inputs / "closed").mkdir(mode=0o700)
    code = f"""import os, sys
from pathlib import Path
from wattpack.cli.outputs import check_files, check_folder
from wattpack.errors import UserError
os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
for check in (lambda: check_files({{"--out": Path({str(inputs / "closed" / "a.csv")!r})}}, ()),
              lambda: check_folder(Path({str(inputs / "closed" / "out")!r}), (), ())):
    try:
        check()
    except UserError as fault:
        print(fault)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == 2, done.stdout + done.stderr


def test_a_name_of_250_characters_is_fine(inputs: Path) -> None:
    main([*REPLAY, "--decisions", "x" * 250])
    assert (inputs / ("x" * 250)).read_text().startswith(HEADER)


def test_a_folder_in_the_place_of_a_file_is_refused_before_the_run(
    inputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (inputs / "out" / "report.html").mkdir(parents=True)
    assert "report.html" in refused([*FOLDERS["compare"], "--out", "out"], capsys)
    assert not (inputs / "out" / "runs").exists()


@pytest.mark.parametrize("option", ["--decisions", "--series"])
@pytest.mark.parametrize("words", [["{}", ""], ["{}="]])
def test_an_empty_path_is_refused(
    inputs: Path, capsys: pytest.CaptureFixture[str], option: str, words: list[str]
) -> None:
    assert "empty" in refused([*REPLAY, *(word.format(option) for word in words)], capsys)


@pytest.mark.parametrize("command", FOLDERS)
def test_an_empty_folder_name_is_refused(inputs: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert "empty" in refused([*FOLDERS[command], "--out", ""], capsys)


def test_every_option_that_names_an_output_is_known_to_the_check_of_empty_ones() -> None:
    named = set()
    for command in COMMANDS:
        app = new_app()
        for word in command.split():
            app = app[word]
        arguments = app.assemble_argument_collection()
        named |= {argument.name for argument in arguments if argument.name.endswith("-out")}
    assert named - {"--out"} <= set(OUTPUTS)


@pytest.mark.parametrize("words", [["--decisions", "~/d.csv"], ["--decisions=~/d.csv"]])
def test_a_tilde_is_the_home_folder(inputs: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    (inputs / "home").mkdir()
    monkeypatch.setenv("HOME", str(inputs / "home"))
    main([*REPLAY, *words])
    assert (inputs / "home" / "d.csv").read_text().startswith(HEADER)
    assert not (inputs / "~").exists()


def test_a_tilde_alone_is_the_home_folder_too(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (inputs / "home").mkdir()
    monkeypatch.setenv("HOME", str(inputs / "home"))
    main([*FOLDERS["compare"], "--policy", "fgd", "--seeds", "1", "--no-bound", "--out", "~"])
    assert (inputs / "home" / "summary.csv").is_file()
    assert not (inputs / "~").exists()


def test_a_fifo_gets_the_decisions(inputs: Path) -> None:
    os.mkfifo(inputs / "fifo")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((inputs / "fifo").read_text()))
    reader.start()
    main([*REPLAY, "--decisions", "fifo"])
    reader.join()
    assert read[0].startswith(HEADER)
    assert stat.S_ISFIFO((inputs / "fifo").stat().st_mode)


@pytest.mark.parametrize("path", ["-", "/dev/stdout"])
def test_data_on_standard_output_is_data_alone_and_the_words_go_to_stderr(inputs: Path, path: str) -> None:
    main([*REPLAY, "--decisions", "d.csv"])
    command = [sys.executable, "-m", "wattpack", *REPLAY, "--decisions", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == (inputs / "d.csv").read_text()
    assert "GRAR" in done.stderr
    with (inputs / "all.txt").open("w") as out:
        subprocess.run(command, stdout=out, stderr=subprocess.DEVNULL, check=True)
    assert (inputs / "all.txt").read_text() == done.stdout
