"""A small synchronous client of the Kubernetes API for tests: plain dictionaries in and out, kept-alive connections.

It is not the client of the service and shares no code with it: what a test says about the cluster must not depend on
what it tests.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]

PATCH_TYPES = {
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
REQUEST_TIMEOUT_S = 60.0
THREADS = 4  # the apiserver has two cores at most: more threads only wait


class ApiError(Exception):
    """An answer of the apiserver other than success."""

    def __init__(self, status: int, method: str, path: str, body: Json) -> None:
        super().__init__(f"{method} {path}: {status} {body.get('reason', '')}: {body.get('message', '')}")
        self.status, self.body = status, body


class Api:
    """One user's view of one apiserver. Threads share it: each has a connection of its own."""

    def __init__(self, url: str, token: str, certificate: Path | None) -> None:
        parts = urlsplit(url)
        self.url, self.token, self.certificate = url, token, certificate
        self._host, self._port = parts.hostname or "", parts.port
        self._secure = parts.scheme == "https"
        self._tls: ssl.SSLContext | None = None
        self._of_thread = threading.local()
        self._connections: list[http.client.HTTPConnection] = []

    def request(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> tuple[int, Json]:
        """Status and answer of one request, whatever the status. A connection closed meanwhile is made anew."""
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        if data is not None:
            headers["Content-Type"] = content_type
        for fresh in (False, True):
            connection = self._connection(fresh)
            sent = False
            try:
                connection.request(method, path, data, headers)
                sent = True
                answer = connection.getresponse()
                text = answer.read()
                return answer.status, _decoded(text)
            except (http.client.HTTPException, OSError):
                # Once a write was sent it may have happened: only reads are asked twice.
                lost = fresh or (sent and method != "GET")
                connection.close()
                if lost:
                    raise
        raise AssertionError("not reached")

    def get(self, path: str) -> Json:
        return self._expect_success("GET", path)

    def list(self, path: str) -> list[Json]:
        """All items of a collection, page after page."""
        items: list[Json] = []
        more = ""
        while True:
            joint = "&" if "?" in path else "?"
            page = self.get(f"{path}{joint}limit=2000{more}")
            items += page.get("items") or []
            if not (token := page["metadata"].get("continue")):
                return items
            more = f"&continue={token}"

    def create(self, path: str, body: Json) -> Json:
        return self._expect_success("POST", path, body)

    def patch(self, path: str, body: Any, kind: str = "merge") -> Json:
        return self._expect_success("PATCH", path, body, PATCH_TYPES[kind])

    def delete(self, path: str, grace_period_s: int = 0) -> Json:
        """Without a kubelet nobody ends the grace period of a pod: 0 deletes it at once."""
        return self._expect_success("DELETE", path, {"gracePeriodSeconds": grace_period_s})

    def create_many(self, path: str, bodies: Iterable[Json], threads: int = THREADS) -> None:
        """Create all of them, in no particular order; the first fault is raised."""
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(lambda body: self.create(path, body), bodies):
                pass

    def delete_many(self, paths: Iterable[str], threads: int = THREADS) -> None:
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(self.delete, paths):
                pass

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of an answer without end, a watch, as they come; on a connection of its own."""
        connection = self._new_connection()
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            if answer.status != 200:
                raise ApiError(answer.status, "GET", path, _decoded(answer.read()))
            while line := answer.readline():
                yield line
        finally:
            connection.close()

    def allowed(self, verb: str, resource: str, namespace: str = "", group: str = "", name: str = "") -> bool:
        """Whether this user may do that, as the apiserver's authoriser says; `resource` may be `pods/binding`."""
        resource, _, subresource = resource.partition("/")
        asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource}
        asked |= {"namespace": namespace, "name": name}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        answer = self.create(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {**review, "spec": {"resourceAttributes": asked}}
        )
        return bool(answer["status"]["allowed"])

    def close(self) -> None:
        for connection in self._connections:
            if connection.sock is not None:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(
                        socket.SHUT_RDWR
                    )  # wakes a thread that reads; a mere close would wait for it
            connection.close()

    def _connection(self, fresh: bool) -> http.client.HTTPConnection:
        kept: http.client.HTTPConnection | None = getattr(self._of_thread, "connection", None)
        if kept is not None and not fresh:
            return kept
        if kept is not None:
            kept.close()
        self._of_thread.connection = self._new_connection()
        return self._of_thread.connection

    def _new_connection(self) -> http.client.HTTPConnection:
        if self._secure and self._tls is None:
            self._tls = ssl.create_default_context(cafile=self.certificate)  # a server writes its own when it starts
        if self._tls is None:
            made = http.client.HTTPConnection(self._host, self._port, timeout=REQUEST_TIMEOUT_S)
        else:
            made = http.client.HTTPSConnection(self._host, self._port, timeout=REQUEST_TIMEOUT_S, context=self._tls)
        self._connections.append(made)
        return made

    def _expect_success(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Json:
        status, answer = self.request(method, path, body, content_type)
        if not 200 <= status < 300:
            raise ApiError(status, method, path, answer)
        return answer


def _decoded(text: bytes) -> Json:
    try:
        value = json.loads(text)
    except ValueError:
        return {"message": text.decode(errors="replace")}
    return value if isinstance(value, dict) else {"value": value}


def wait_until(
    condition: Callable[[], Any], timeout_s: float, what: str | Callable[[], str], every_s: float = 0.1
) -> Any:
    """The first true value of `condition`. A test that waits says for what: it is the message of its failure.

    A function as `what` is called when the time is over, to tell how things are then.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s:g} s in vain: {what() if callable(what) else what}")
        time.sleep(every_s)
