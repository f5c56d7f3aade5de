"""`wattpack new-policy` writes a policy and a test, and both work."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from wattpack.cli import main
from wattpack.cli.policy_template import POLICY


def new_policy(*words: str) -> int:
    try:
        main(["new-policy", *words])
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


@pytest.mark.e2e  # 6 s
@pytest.mark.compiled
def test_the_files_work_as_they_are(tmp_path: Path) -> None:
    assert new_policy("night_owl", "--out", str(tmp_path / "mine")) == 0
    folder = tmp_path / "mine"
    assert {file.name for file in folder.iterdir()} == {"night_owl.py", "test_night_owl.py"}
    for words in (
        ["pytest", "-q", "-p", "no:cacheprovider", "test_night_owl.py"],
        ["wattpack", "compare", "--plugin", "night_owl.py", "--policy", "night_owl", "--seeds", "1", "--no-bound"],
    ):
        done = subprocess.run([sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])


@pytest.mark.compiled
def test_what_stands_in_comments_works_too(tmp_path: Path) -> None:
    """Every comment at the beginning of a line that is code, taken in, and the policy given what they say."""
    code = re.sub(r"^# ?((?:from|def|@wp|    ).*)$", r"\1", POLICY, flags=re.MULTILINE)
    code = code.replace("terms[0] = 100 - node.gpu_free", "terms[1] = params[0]; terms[0] = 100 - node.gpu_free")
    more = 'terms=2, term_names=("first", "second"), weigh=weigh, remember=remember, memory_size=1, with_knob=with_knob'
    code = code.replace("        score,\n", f"        score,\n        prepare=prepare, {more},\n")
    code = code.replace("NAME", "uncommented")
    assert code.count("\ndef ") + code.count("\n@wp.kernel\ndef ") > 4
    (tmp_path / "uncommented.py").write_text(code)
    use = "import uncommented, wattpack as wp; print(wp.check_policy('uncommented'))"
    use += "; from wattpack.policies.expression import parse; print(parse('uncommented@0.5').expression)"
    done = subprocess.run([sys.executable, "-c", use], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[]\nuncommented@0.5\n", done.stderr[-2000:]


@pytest.mark.parametrize("name", ["Bad", "two words", "1st", "a-b", "class", "", "fgd", "json", "wattpack", "naïve"])
def test_a_bad_name_is_one_line_exit_2_and_nothing_is_written(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert new_policy(name, "--out", str(tmp_path)) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"wattpack: policy name {name!r}: ")
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", ["mine.py", "test_mine.py"])
def test_files_that_are_there_are_kept(there: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / there).write_text("kept")
    assert new_policy("mine", "--out", str(tmp_path)) == 2
    assert f"{there}: is there already" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "kept"
