"""Every block of docs/guide/python.md runs, in order, and prints what the guide shows."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = (Path(__file__).parents[1] / "docs" / "guide" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
SHOWN = re.findall(r"```text\n(.*?)```", GUIDE, flags=re.DOTALL)


@pytest.mark.compiled
def test_the_blocks_are_one_session_that_prints_what_the_guide_shows_and_writes_what_it_names(tmp_path: Path) -> None:
    code = "\n".join(BLOCKS)
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == ""
    assert done.returncode == 0
    for text in SHOWN:
        assert text in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["compare.png", "report.html", "summary.csv"]
    assert "Comparison of 3 policies on 1 trace, 2 seeds, datacenter alibaba2023" in done.stdout
    assert "week (measured)" in done.stdout
