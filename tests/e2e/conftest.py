"""Where the control plane's binaries are, and a control plane for each test. Not to be had: skipped, with the reason.

`.ci/run` sets WATTPACK_E2E=required: then what cannot be had is a failure, so that nothing is left out in silence.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cluster import Cluster

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "tools" / "controlplane" / "build.sh"
BUILD_S = 2700  # a cold build takes 12 minutes on two cores, more on busy ones


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of this folder run one after another: a control plane takes both cores of a small machine."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("alone")


@pytest.fixture(scope="session", autouse=True)
def end_cleanly() -> Iterator[None]:
    """SIGTERM (`timeout` in CI) ends the session as Ctrl-C does: control planes are stopped, not left running."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    yield
    signal.signal(signal.SIGTERM, before)


def _built(*names: str) -> Path:
    try:
        done = subprocess.run([BUILD, *names], capture_output=True, text=True, timeout=BUILD_S, check=False)
        fault = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    except (OSError, subprocess.TimeoutExpired) as problem:
        fault = str(problem)
    if fault:
        reason = f"no control plane: {fault}"
        if os.environ.get("WATTPACK_E2E") == "required":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return Path(done.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="session")
def binaries() -> Path:
    """The folder with etcd, kube-apiserver and kube-scheduler, built on first use."""
    return _built("etcd", "kube-apiserver", "kube-scheduler")


@pytest.fixture(scope="session")
def binaries_with_controllers() -> Path:
    """The same with kube-controller-manager."""
    return _built("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager")


@pytest.fixture(scope="session")
def helm() -> Path:
    return _built("helm") / "helm"


@pytest.fixture
def cluster(binaries: Path, tmp_path: Path) -> Iterator[Cluster]:
    """An empty control plane, 5 s to start; kube-scheduler is started by the test."""
    with Cluster(binaries, tmp_path / "cluster") as started:
        yield started
