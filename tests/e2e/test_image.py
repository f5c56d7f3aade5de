"""The kernels that the Dockerfile bakes into the image are all that the service needs, for every policy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.files import DEPLOY

pytestmark = pytest.mark.e2e

# As `wattpack serve` does before it listens.
SERVE = """
from wattpack.cli.commands.serve import compile_ahead
from wattpack.kube.config import Config
from wattpack.policies import REGISTRY
for policy in (*REGISTRY, "pwr:0.1+fgd:0.9", "pwr:0.5+fgd:0.5"):
    compile_ahead(Config(policy=policy, target="default"))
    compile_ahead(Config(policy=policy))
"""


def kernels(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def test_kernels_baked_into_the_image_are_found_again_and_none_is_missing(tmp_path: Path) -> None:
    built, of_pod = tmp_path / "image", tmp_path / "pod"
    environment = {**os.environ, "NUMBA_CPU_NAME": "generic"}

    def run(cache: Path, *words: object) -> None:
        command = [sys.executable, *map(str, words)]
        done = subprocess.run(
            command, env={**environment, "WATTPACK_CACHE": str(cache)}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    run(built, DEPLOY / "bake_kernels.py")
    shutil.copytree(built, of_pod)  # the init container of the chart
    run(of_pod, "-c", SERVE)
    assert kernels(built)
    assert kernels(of_pod) == kernels(built)
