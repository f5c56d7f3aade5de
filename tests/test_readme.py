"""The example and the make targets of the README do what it says.

`test_docs_commands.py` runs its commands, `test_docs.py` follows its links.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_ten_line_example_prints_what_the_readme_shows(tmp_path: Path) -> None:
    (example,), (shown,) = blocks("python"), blocks("text")
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == shown
    assert len([line for line in example.splitlines() if line]) <= 10


def test_each_make_target_of_the_readme_exists() -> None:
    targets = re.findall(r"^make (\w+)", README, flags=re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"demo", "test"} <= set(targets)
    assert all(re.search(rf"^{target}:", makefile, flags=re.MULTILINE) for target in targets)
