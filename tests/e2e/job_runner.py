"""What the Job controller and a kubelet would do: runs the container of a Job as a process and tells the Job's end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

from e2e.api import Json
from e2e.cluster import Cluster

RUN_S = 120.0


class JobRunner:
    """`with JobRunner(cluster, namespace, name, kubeconfig) as runner`: waits for the Job, runs it once."""

    def __init__(self, cluster: Cluster, namespace: str, name: str, kubeconfig: Path) -> None:
        self.api, self.kubeconfig = cluster.client("admin"), kubeconfig
        self.path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
        self.output, self.status = "", -1
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="job", daemon=True)

    def __enter__(self) -> JobRunner:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._thread.join(RUN_S)
        self.api.close()

    def _run(self) -> None:
        while not self._stop.wait(0.2):
            status, job = self.api.request("GET", self.path)
            if status == 200:
                self._work(job)
                return

    def _work(self, job: Json) -> None:
        (container,) = job["spec"]["template"]["spec"]["containers"]
        started = _now()
        command = [sys.executable, "-m", "wattpack", *container["args"]]
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=RUN_S, check=False)
        self.output, self.status = done.stdout + done.stderr, done.returncode
        kinds = ("SuccessCriteriaMet", "Complete") if self.status == 0 else ("FailureTarget", "Failed")
        conditions = [{"type": kind, "status": "True", "lastTransitionTime": _now()} for kind in kinds]
        told: Json = {"startTime": started, "conditions": conditions}
        if self.status == 0:
            told |= {"completionTime": _now(), "succeeded": 1}
        self.api.patch(f"{self.path}/status", {"status": told})


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
