"""Whatever is sent to the page's server, its answers are those of the OpenAPI document."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.files import write_nodes, write_tasks
from ui.page_server import PageServer

pytestmark = pytest.mark.e2e


def test_schemathesis_finds_no_answer_that_breaks_the_openapi_document(tmp_path: Path) -> None:
    beside = Path(sys.executable).with_name("schemathesis")
    command = str(beside) if beside.exists() else shutil.which("schemathesis")
    if command is None:
        pytest.skip("schemathesis is not installed (make e2e installs it)")
    server = PageServer(tmp_path, "--datacenter", write_nodes(tmp_path), "--trace", write_tasks(tmp_path))
    # A request of the right types may name what is not there: a 400, which one of the checks takes for a fault. Runs
    # that are right would be started.
    arguments: list[str | Path] = [command, "run", f"{server.url}/openapi.json", "--no-color"]
    arguments += ["--exclude-checks", "positive_data_acceptance", "--exclude-operation-id", "start"]
    arguments += ["--header", f"Authorization: Bearer {server.address.partition('token=')[2]}"]
    arguments += ["--max-examples", "25", "--seed", "1", "--request-timeout", "120"]
    try:
        done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path, timeout=600, check=False)
    finally:
        assert server.stop() == 0
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "Traceback" not in (tmp_path / "log.txt").read_text()
