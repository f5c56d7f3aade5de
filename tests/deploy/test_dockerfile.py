"""The Dockerfile, as far as it can be checked without an engine: what it copies is there, what it promises it says."""

from __future__ import annotations

import fnmatch
import re
import shlex

from deploy.files import ROOT

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
# Comments may stand between the lines of one instruction.
INSTRUCTIONS = re.sub(r"\\\n(?:\s*#[^\n]*\n)*", " ", re.sub(r"^#[^\n]*\n", "", TEXT, flags=re.MULTILINE)).splitlines()
IGNORED = [
    line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line and line[0] != "#"
]


def copied() -> list[str]:
    """What is copied from the repository, not from another stage."""
    lines = [shlex.split(line)[1:] for line in INSTRUCTIONS if line.startswith("COPY ")]
    return [word for words in lines if not words[0].startswith("--from") for word in words[:-1]]


def is_sent(path: str) -> bool:
    """Whether .dockerignore lets the path into the build; the last line that matches decides."""
    sent = True
    for line in IGNORED:
        pattern = line.removeprefix("!").removeprefix("**/")
        if fnmatch.fnmatch(path, pattern) or path.startswith(f"{pattern}/"):
            sent = line.startswith("!")
    return sent


def test_every_file_copied_exists_and_is_sent_to_the_build() -> None:
    assert copied()
    assert [path for path in copied() if not (ROOT / path).exists() or not is_sent(path)] == []


def test_nothing_is_sent_to_the_build_that_is_not_copied() -> None:
    allowed = {line.removeprefix("!") for line in IGNORED if line.startswith("!")}
    assert allowed == set(copied())
    assert not is_sent("out")
    assert not is_sent(".venv")


def test_packages_come_from_the_lock_file_with_hashes_and_only_from_there() -> None:
    installs = [line for line in INSTRUCTIONS if "pip install" in line]
    assert len(installs) == 2
    assert "--require-hashes" in installs[0]
    assert "locks/serve.txt" in installs[0]
    assert "--no-deps --no-build-isolation" in installs[1]


def test_both_stages_stand_on_the_base_image_of_the_argument() -> None:
    stages = [line for line in INSTRUCTIONS if line.startswith("FROM ")]
    assert [line.split()[1] for line in stages] == ["${PYTHON_IMAGE}"] * 2
    assert "ARG PYTHON_IMAGE=python:3.11-slim" in INSTRUCTIONS


def test_the_image_runs_the_service_as_the_user_of_the_chart() -> None:
    last_stage = INSTRUCTIONS[max(i for i, line in enumerate(INSTRUCTIONS) if line.startswith("FROM ")) :]
    assert "USER 65532:65532" in last_stage
    assert 'ENTRYPOINT ["wattpack"]' in last_stage
    assert 'CMD ["serve"]' in last_stage


def test_kernels_are_compiled_for_the_processor_they_are_looked_for_with() -> None:
    assert TEXT.count("NUMBA_CPU_NAME=generic") == 2
    assert TEXT.count("WATTPACK_CACHE=/opt/wattpack/cache") == 2
