"""What writing does to what is there: plain files, links, devices, FIFOs, standard output; folders that are ours."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from wattpack import files
from wattpack.errors import RunError, UserError
from wattpack.experiments.plugins import Plugin, import_plugin
from wattpack.files import (
    inputs_kept,
    is_standard_output,
    make_folder,
    make_private,
    note_input,
    private_temporary_folder,
    remove_leftovers,
    write_text,
    write_whole,
)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder to another user")
SOMEONE_ELSE = 65534


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("old")

    def fail(temporary: Path) -> None:
        temporary.write_text("half")
        raise OSError(errno.EACCES, "no")

    with pytest.raises(UserError, match="cannot be written"):
        write_whole(file, fail)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_full_disk_is_no_fault_of_the_users_input(tmp_path: Path) -> None:
    def fail(temporary: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(RunError, match="No space left"):
        write_whole(tmp_path / "a.csv", fail)


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link, dangling = tmp_path / "far" / "a.csv", tmp_path / "link.csv", tmp_path / "dangling.csv"
    target.write_text("old")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "far" / "b.csv")
    write_text(link, "new")
    write_text(dangling, "made")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert (tmp_path / "far" / "b.csv").read_text() == "made"


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("old")
    file.chmod(0o600)
    write_text(file, "new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_fifo_is_written_through_and_stays_one(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()))
    reader.start()
    write_text(fifo, "task,node\n")
    reader.join()
    assert read == ["task,node\n"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_character_device_is_written_through_and_stays_one(tmp_path: Path) -> None:
    link = tmp_path / "null"
    link.symlink_to(os.devnull)
    for path in (Path(os.devnull), link):
        write_text(path, "gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    assert link.is_symlink()


def test_a_device_that_is_full_is_told(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with pytest.raises(RunError, match="No space left"):
        write_text(Path("/dev/full"), "x")


@pytest.mark.skipif(os.geteuid() != 0 or not hasattr(os, "mknod"), reason="only root may make a device")
def test_a_disk_is_refused(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    try:
        os.mknod(disk, 0o600 | stat.S_IFBLK, os.makedev(7, 250))
    except OSError:
        pytest.skip("no devices may be made here")
    with pytest.raises(UserError, match="a disk"):
        write_text(disk, "x")


def test_a_dash_is_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    print("first")
    write_text(Path("-"), "task,node\n")
    print("last")
    assert capfd.readouterr().out == "first\ntask,node\nlast\n"


def test_a_file_that_standard_output_goes_to_is_not_replaced_under_it(tmp_path: Path) -> None:
    code = "from pathlib import Path; from wattpack.files import write_text; print('before')\n"
    code += (
        f"for path in ('/dev/stdout', {str(tmp_path / 'out')!r}): write_text(Path(path), path + '\\n')\nprint('after')"
    )
    with (tmp_path / "out").open("w") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == f"before\n/dev/stdout\n{tmp_path / 'out'}\nafter\n"
    assert not is_standard_output(tmp_path / "other")


@pytest.mark.parametrize("path", ["/", ".", "..", "file/below", "no/folder/a.csv", "x" * 256])
def test_a_path_that_cannot_be_a_file_is_one_line(tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot be written") as fault:
        write_text(Path(path), "x")
    assert "\n" not in str(fault.value)


def test_a_name_may_be_as_long_as_names_may_be(tmp_path: Path) -> None:
    write_text(tmp_path / ("x" * 255), "x")
    assert [len(file.name) for file in tmp_path.iterdir()] == [255]


def test_what_killed_commands_left_is_removed_at_once_and_what_others_write_is_not(tmp_path: Path) -> None:
    done = subprocess.Popen([sys.executable, "-c", "pass"])
    done.wait()
    space = files._process_space()
    dead = tmp_path / f".wattpack-{space}-00000000.{done.pid}.tmp"
    alive = tmp_path / f".wattpack-{space}-00000000.{os.getpid()}.tmp"
    elsewhere = tmp_path / f".wattpack-99999999-00000000.{done.pid}.tmp"
    for file in (dead, alive, elsewhere):
        file.touch()
    make_folder(tmp_path)
    assert set(tmp_path.iterdir()) == {alive, elsewhere} | (set() if space else {dead})
    os.utime(elsewhere, (0, 0))
    remove_leftovers(tmp_path)
    assert not elsewhere.exists()


def test_an_old_temporary_file_that_is_not_ours_stays(tmp_path: Path) -> None:
    theirs = tmp_path / ".draft.tmp"
    theirs.write_text("a user's own")
    os.utime(theirs, (0, 0))
    make_folder(tmp_path)
    assert theirs.read_text() == "a user's own"


@pytest.mark.parametrize("by", ["its name", "another name", "a link", "a hard link"])
def test_what_a_command_has_read_it_does_not_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("theirs")
    Path("link").symlink_to("in.csv")
    os.link("in.csv", "hard")
    names = {"its name": "in.csv", "another name": f"../{tmp_path.name}//in.csv", "a link": "link"}
    with inputs_kept():
        note_input(Path("in.csv"))
        with pytest.raises(UserError, match=r"is the input in\.csv too"):
            write_text(Path(names.get(by, "hard")), "ours")
        assert Path("in.csv").read_text() == "theirs"
        write_text(Path("out.csv"), "ours")
    write_text(Path("in.csv"), "ours")  # by another command, or from Python
    assert Path("in.csv").read_text() == "ours"


def test_a_command_that_is_killed_while_it_writes_leaves_nothing_for_long(tmp_path: Path) -> None:
    code = "import os; from pathlib import Path; from wattpack.files import write_whole\n"
    code += f"write_whole(Path({str(tmp_path / 'a.csv')!r}), lambda t: (t.write_text('half'), os.kill(os.getpid(), 9)))"
    subprocess.run([sys.executable, "-c", code], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    make_folder(tmp_path)
    assert list(tmp_path.iterdir()) == ([] if files._process_space() else list(tmp_path.iterdir()))


def test_a_private_folder_is_made_for_us_alone(tmp_path: Path) -> None:
    assert make_private(tmp_path / "a", "b") == ""
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")] == [0o700, 0o700]


def test_a_folder_of_ours_that_others_may_read_is_closed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)
    assert make_private(tmp_path / "a") == ""
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_a_folder_that_others_could_write_to_is_not_private(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o777)
    assert "others could write" in make_private(tmp_path / "a")
    # one above, which holds nothing that is run, is closed; the one in it is looked at after that
    assert make_private(tmp_path / "a", "b") == ""
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700


def test_a_link_to_a_folder_and_a_file_are_not_private_folders(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").touch()
    assert "a link" in make_private(tmp_path / "link")
    assert "a link" in make_private(tmp_path / "link", "below")
    assert make_private(tmp_path / "file") != ""
    assert list((tmp_path / "real").iterdir()) == []


@needs_root
def test_a_folder_of_another_user_is_not_private(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o700)
    os.chown(tmp_path / "a", SOMEONE_ELSE, SOMEONE_ELSE)
    assert "another user" in make_private(tmp_path / "a", "b")
    assert list((tmp_path / "a").iterdir()) == []


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv(files.FRESH_FOLDER, "")  # and away again after the test
    return tmp_path


def test_the_next_command_finds_the_private_temporary_folder_again(temporary: Path) -> None:
    folder = private_temporary_folder("kernels")
    assert folder == private_temporary_folder("kernels") == temporary / f"wattpack-{os.geteuid()}" / "kernels"
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700


def test_a_predictable_name_that_another_has_taken_is_not_used_and_said(
    temporary: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = temporary / "trap"
    trap.mkdir(mode=0o700)
    (temporary / f"wattpack-{os.geteuid()}").symlink_to(trap)
    folder = private_temporary_folder("kernels")
    assert trap not in folder.resolve().parents
    assert list(trap.iterdir()) == []
    assert "not used" in capsys.readouterr().err
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    # processes that this one starts take the same, and say nothing
    assert private_temporary_folder("kernels") == folder
    assert capsys.readouterr().err == ""


def test_a_copy_of_a_plugin_is_imported_from_a_folder_of_ours(temporary: Path) -> None:
    trap = temporary / "trap"
    trap.mkdir(mode=0o700)
    (temporary / f"wattpack-{os.geteuid()}").symlink_to(trap)
    import_plugin(Plugin("/no/such/folder/plugin_of_ours.py", b"import sys; sys.came_from = __file__\n"))
    came_from = Path(sys.__dict__.pop("came_from"))
    assert came_from.name == "plugin_of_ours.py"
    assert trap not in came_from.resolve().parents
    assert stat.S_IMODE(came_from.parent.stat().st_mode) == 0o700
    assert list(trap.iterdir()) == []
