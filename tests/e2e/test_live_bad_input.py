"""Bad input to the service: a clear 4xx or an extender's Error, never a crash, never a wrong placement.

One cluster and one service for the whole file: what one test sends must not spoil the next. The last test asks whether
pods are still placed as they should be.
"""

from __future__ import annotations

import json
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.api import Json, wait_until
from e2e.audit import bindings, faults, pending, placements
from e2e.chaos import ChaosProxy
from e2e.cluster import Cluster
from e2e.nodes_and_pods import GPU_INDEX, PREFIX, node_object, pod_object
from e2e.pod_watch import PODS
from e2e.service import Service
from wattpack.model.tasks import TaskClass

pytestmark = pytest.mark.e2e

VERBS = ("/filter", "/prioritize", "/bind", "/fit")
NODES = [f"n{i:02d}" for i in range(20)]
SHARE = TaskClass(1000, 1024, 1, 500)
MODEST_MIB = 100  # what a request may leave behind in memory, at the very most
BODY_MIB = 50


class Place:
    """The service under test, and a proxy that notes what it asks the apiserver."""

    def __init__(self, cluster: Cluster, proxy: ChaosProxy, service: Service) -> None:
        self.cluster, self.proxy, self.service = cluster, proxy, service

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        status, text = self.service.request("POST", path, body)
        return status, json.loads(text)

    def filter_pod(self, pod: Json, nodes: list[str] = NODES) -> Json:
        return self.service.filter(pod, nodes)


@pytest.fixture(scope="module")
def place(binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with (
        Cluster(binaries, tmp_path_factory.mktemp("bad-input")) as cluster,
        ChaosProxy(cluster.url, cluster.certificate) as proxy,
    ):
        cluster.admin.create_many("/api/v1/nodes", [node_object(name, 64000, 262144, 4, "T4") for name in NODES])
        kubeconfig = cluster.kubeconfig(url=proxy.url)
        service = Service(cluster.processes, kubeconfig, policy="fgd", target="default", lease={"duration_s": 2})
        yield Place(cluster, proxy, service.start())


@pytest.fixture(autouse=True)
def still_there(place: Place) -> Iterator[None]:
    """Whatever a test sends, the same process answers afterwards, and nothing was bound that should not be."""
    pid = place.service.processes.pid(place.service.name)
    log = place.service.processes.log_file(place.service.name)
    before = log.stat().st_size
    yield
    assert place.service.alive, place.service.log
    assert place.service.processes.pid(place.service.name) == pid
    assert place.service.request("GET", "/readyz")[0] == 200
    assert b"Traceback" not in log.read_bytes()[before:]
    assert faults(place.cluster.admin) == []


def pod_with(name: str = "pod", annotations: Json | None = None, requests: Json | None = None) -> Json:
    """A pod as kube-scheduler would hand it over, with annotations and requests of one's own."""
    pod = pod_object(name, SHARE)
    pod["metadata"] |= {"uid": f"uid-{name}", "annotations": annotations or {}}
    pod["spec"]["containers"][0]["resources"]["requests"] = requests or {"cpu": "1"}
    return pod


@pytest.mark.parametrize("verb", VERBS)
def test_random_bytes_are_answered_with_400(place: Place, verb: str) -> None:
    rng = random.Random(verb)
    for size in (0, 1, 2, 16, 1000, 100_000):
        for _ in range(20):
            status, answer = place.post(verb, rng.randbytes(size))
            assert status == 400, (size, answer)
            assert answer["error"] != ""


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "body",
    [
        b"null",
        b"5",
        b'"text"',
        b"[]",
        b"[[[[[[",
        b"[" * 100_000,
        b'{"Pod":' * 50_000,
        b"{}",
        b'{"Pod": null, "NodeNames": null}',
        b'{"Pod": 5, "NodeNames": ["n00"]}',
        b'{"Pod": {"metadata": []}, "NodeNames": ["n00"]}',
        b'{"Pod": {"metadata": {"name": 5}}, "NodeNames": ["n00"]}',
        b'{"Pod": {"spec": {"containers": 7}}, "NodeNames": ["n00"]}',
        b'{"Pod": {"spec": {"containers": [null]}}, "NodeNames": ["n00"]}',
        b'{"Pod": {}, "NodeNames": "n00"}',
        b'{"Pod": {}, "NodeNames": [1, 2]}',
        b'{"Pod": {}, "Nodes": [], "NodeNames": {}}',
        b'{"PodName": 5, "PodNamespace": [], "Node": {}}',
        b'{"PodName": "\xff\xfe", "PodNamespace": "default", "Node": "n00"}',
        b'{"metadata": 1}',
        b'{"spec": {"containers": [{"resources": 5}]}}',
    ],
)
def test_wrong_types_are_answered_with_a_4xx_or_an_error(place: Place, verb: str, body: bytes) -> None:
    status, answer = place.post(verb, body)
    if status == 200:  # an object without the fields of this verb: then the answer itself must say so, or name no node
        assert answer == [] or answer.get("Error") or answer.get("node") == "" or answer.get("NodeNames") == []
    else:
        assert 400 <= status < 500, (status, answer)
        assert answer["error"] != ""


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_50_mb_is_refused_and_leaves_nothing_behind(place: Place, chunked: bool) -> None:
    processes, name = place.service.processes, place.service.name
    before = processes.resident_mib(name)
    status = _send_large(place.service.port, BODY_MIB, chunked)
    assert status in (400, 413, None)  # None: the connection was closed while we were still sending
    assert processes.resident_mib(name) - before < MODEST_MIB


def test_a_request_that_never_ends_holds_up_nobody(place: Place) -> None:
    slow = [socket.create_connection(("127.0.0.1", place.service.port)) for _ in range(50)]
    try:
        for connection in slow:
            connection.sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
        started = time.monotonic()
        assert place.filter_pod(pod_with("beside"))["Error"] == ""
        assert time.monotonic() - started < 5
    finally:
        for connection in slow:
            connection.close()


def test_paths_and_methods_that_are_not_there_are_answered_with_a_4xx(place: Place) -> None:
    for method, path in [("GET", "/nothing"), ("GET", "/filter"), ("DELETE", "/state"), ("POST", "/explain/a/b")]:
        status, text = place.service.request(method, path)
        assert 400 <= status < 500, (method, path, text)
    assert place.service.request("GET", "/explain/default/nobody")[0] == 404
    assert place.service.request("GET", "/explain/..%2F..%2Fetc/passwd")[0] == 404


def test_nodes_nobody_knows_are_refused_by_name(place: Place) -> None:
    answer = place.filter_pod(pod_with("unknown-nodes"), ["nope", "", "n00/../n01", "n" * 100_000])
    assert not answer["NodeNames"]
    assert set(answer["FailedNodes"] | answer["FailedAndUnresolvableNodes"]) >= {"nope"}
    mixed = place.filter_pod(pod_with("mixed-nodes", {f"{PREFIX}/gpu-milli": "500"}), ["nope", "n03", "n03"])
    assert set(mixed["NodeNames"]) == {"n03"}
    assert place.filter_pod(pod_with("no-nodes"), [])["NodeNames"] in ([], None)


HUGE = "99999999999999999999999999"
BAD_REQUESTS: list[tuple[Json, Json]] = [
    # annotations, requests of the container
    ({f"{PREFIX}/gpu-milli": "-500"}, {}),
    ({f"{PREFIX}/gpu-milli": "1001"}, {}),
    ({f"{PREFIX}/gpu-milli": HUGE}, {}),
    ({f"{PREFIX}/gpu-milli": "0.5"}, {}),
    ({f"{PREFIX}/gpu-milli": "NaN"}, {}),
    ({f"{PREFIX}/gpu-milli": "many"}, {}),
    ({f"{PREFIX}/gpu-milli": "1_000"}, {}),
    ({f"{PREFIX}/gpu-milli": "\u0665\u0660\u0660"}, {}),  # 500 in Arabic digits
    ({f"{PREFIX}/gpu-milli": "500", f"{PREFIX}/gpu-count": "2"}, {}),  # parts of two GPUs
    ({f"{PREFIX}/gpu-milli": "1000", f"{PREFIX}/gpu-count": "-1"}, {}),
    ({f"{PREFIX}/gpu-milli": "1000", f"{PREFIX}/gpu-count": "17"}, {}),
    ({f"{PREFIX}/gpu-milli": "1000", f"{PREFIX}/gpu-count": HUGE}, {}),
    ({f"{PREFIX}/gpu-milli": "500", f"{PREFIX}/gpu-card-model": "NOSUCH"}, {}),
    ({f"{PREFIX}/gpu-milli": "500"}, {"nvidia.com/gpu": "2"}),  # a share and whole GPUs
    ({}, {"nvidia.com/gpu": HUGE}),
    ({}, {"cpu": "-1"}),
    ({}, {"cpu": HUGE}),
    ({}, {"cpu": "1e400"}),
    ({}, {"cpu": "abc"}),
    ({}, {"memory": "-1Gi"}),
    ({}, {"memory": f"{HUGE}Ei"}),
    ({}, {"memory": "1Qi"}),
    ({f"{PREFIX}/gpu-milli": "500"}, {"cpu": "1000000"}),  # nothing wrong but the size
    ({f"{PREFIX}/gpu-milli": "500"}, {"memory": "8Ei"}),
]


@pytest.mark.parametrize("number", range(len(BAD_REQUESTS)))
def test_amounts_that_cannot_be_are_never_given_a_node(place: Place, number: int) -> None:
    annotations, requests = BAD_REQUESTS[number]
    pod = pod_with(f"bad-{number}", annotations, requests)
    answer = place.filter_pod(pod)
    assert not answer["NodeNames"], answer
    assert answer["Error"] or answer["FailedNodes"] or answer["FailedAndUnresolvableNodes"]
    status, scores = place.post("/prioritize", {"Pod": pod, "NodeNames": NODES})
    assert status == 200 or 400 <= status < 500
    if status == 200:
        assert all(row["Score"] == 0 for row in scores)
    status, fit = place.post("/fit", pod)
    assert 400 <= status < 500 or fit["node"] == "", (status, fit)


def test_a_bind_of_what_is_not_there_makes_no_binding(place: Place) -> None:
    api = place.cluster.admin
    pod = api.create(PODS, pod_object("to-bind", SHARE))
    uid = pod["metadata"]["uid"]
    start = len(place.proxy.requests)
    good = {"PodName": "to-bind", "PodNamespace": "default", "PodUID": uid, "Node": "n00"}
    for wrong in (
        {"PodName": "nobody"},
        {"PodNamespace": "nowhere"},
        {"PodUID": "another"},
        {"Node": "nope"},
        {"Node": ""},
        {"PodName": ""},
        {"PodName": "../../nodes/n00", "PodUID": ""},
        {"PodName": "to-bind/status?x=", "PodUID": ""},
        {"PodName": "to-bind\r\nX: y", "PodUID": ""},
        {"PodNamespace": "default/pods/to-bind/status#", "PodUID": ""},
        {"PodName": "x" * 100_000},
    ):
        status, answer = place.post("/bind", {**good, **wrong})
        assert 400 <= status < 500 or answer["Error"], (wrong, status, answer)
    assert pending(api) == ["to-bind"]
    asked = [path for method, path in place.proxy.requests[start:] if method != "GET" and "/leases" not in path]
    assert [path for path in asked if not path.partition("?")[0].endswith(("/events", "/binding"))] == []
    api.delete(f"{PODS}/to-bind")


def test_a_bind_without_a_filter_before_it_is_made_only_where_the_pod_fits(place: Place) -> None:
    """kube-scheduler may ask a service that was started in between, and knows nothing of GPUs."""
    api = place.cluster.admin
    for name, milli, count in (("holds-all", "1000", "4"), ("comes-late", "500", "1")):
        pod = pod_object(name, SHARE)
        pod["metadata"]["annotations"] = {f"{PREFIX}/gpu-milli": milli, f"{PREFIX}/gpu-count": count}
        uid = api.create(PODS, pod)["metadata"]["uid"]
        asked = {"PodName": name, "PodNamespace": "default", "PodUID": uid, "Node": "n01"}
        status, answer = place.post("/bind", asked)
        assert status == 200
        assert (answer["Error"] == "") == (name == "holds-all"), answer
    assert placements(api)["holds-all"] == ("n01", "0-1-2-3")
    assert pending(api) == ["comes-late"]
    again = {"PodName": "holds-all", "PodNamespace": "default", "Node": "n02"}
    assert place.post("/bind", again)[1]["Error"] != ""  # it is on n01 and stays there
    assert bindings(place.cluster)["holds-all"] == 1
    api.delete_many([f"{PODS}/holds-all", f"{PODS}/comes-late"])


@pytest.mark.parametrize(
    "annotations",
    [
        {f"{PREFIX}/gpu-milli": "500", GPU_INDEX: "99"},
        {f"{PREFIX}/gpu-milli": "500", GPU_INDEX: "-1"},
        {f"{PREFIX}/gpu-milli": "500", GPU_INDEX: "zero"},
        {f"{PREFIX}/gpu-milli": "500", GPU_INDEX: "0-0"},
        {f"{PREFIX}/gpu-milli": "many", GPU_INDEX: "0"},
        {f"{PREFIX}/gpu-milli": "500", f"{PREFIX}/gpu-count": "3", GPU_INDEX: "0-1-2"},
        {f"{PREFIX}/gpu-milli": "1000", f"{PREFIX}/gpu-count": "9"},
    ],
)
def test_a_pod_of_others_that_makes_no_sense_costs_at_most_its_own_node(place: Place, annotations: Json) -> None:
    """Somebody else's scheduler bound it to n05. Nobody can say what it holds: other nodes are used as before."""
    api = place.cluster.admin
    pod = pod_object("odd", SHARE, scheduler_name="another")
    pod["metadata"]["annotations"], pod["spec"]["nodeName"] = annotations, "n05"
    odd = f"{PODS}/{api.create(PODS, pod)['metadata']['name']}"
    try:
        time.sleep(0.5)
        whole = pod_with("whole", {f"{PREFIX}/gpu-milli": "1000", f"{PREFIX}/gpu-count": "4"})
        assert place.filter_pod(whole, ["n06"])["NodeNames"] == ["n06"]
        assert place.service.request("GET", "/state")[0] == 200
    finally:
        api.delete(odd)


def test_nodes_that_make_no_sense_are_left_out_and_the_others_used(place: Place) -> None:
    api = place.cluster.admin
    odd = [
        node_object("odd-many", 1000, 1000, 99, "T4"),
        node_object("odd-model", 1000, 1000, 4, "NOSUCH"),
        node_object("odd-empty", 0, 0, 4, "T4"),
        node_object("odd-label", 64000, 262144, 4, ""),
    ]
    api.create_many("/api/v1/nodes", odd)
    names = [node["metadata"]["name"] for node in odd]
    try:
        time.sleep(0.5)
        share = pod_with("share-beside-odd", {f"{PREFIX}/gpu-milli": "500"})
        assert place.filter_pod(share, [*names, "n07"])["NodeNames"] == ["n07"]
    finally:
        api.delete_many(f"/api/v1/nodes/{name}" for name in names)


def test_schemathesis_finds_no_answer_that_breaks_the_openapi_document(place: Place, tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("schemathesis")
    if not command.exists() and shutil.which("schemathesis") is None:
        pytest.skip("schemathesis is not installed (make e2e installs it)")
    arguments: list[str | Path] = [command, "run", f"{place.service.url}/openapi.json", "--no-color"]
    # A pod of the right types may still contradict itself: a 422, which one of the checks takes for a fault.
    arguments += ["--exclude-checks", "positive_data_acceptance", "--max-examples", "100", "--seed", "1"]
    done = subprocess.run(
        arguments,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


def test_after_all_that_pods_are_placed_as_they_should_be(place: Place) -> None:
    """Room that was promised to pods nobody ever made is given back after a minute."""
    api = place.cluster.admin
    place.cluster.start_scheduler(extender_url=place.service.url)
    assert placements(api) == {}
    tasks = [TaskClass(1000, 1024, 1, 250 * (1 + i % 4)) for i in range(60)]
    api.create_many(PODS, [pod_object(f"after-{i:02d}", task) for i, task in enumerate(tasks)])
    wait_until(lambda: pending(api) == [], 120, "all pods are bound")
    assert len(placements(api)) == len(tasks)


def _send_large(port: int, mib: int, chunked: bool) -> int | None:
    """Status of the answer to a filter of so many MiB; None if the connection was closed before one came."""
    length = b"Transfer-Encoding: chunked" if chunked else f"Content-Length: {mib << 20}".encode()
    piece = b" " * (1 << 20)
    framed = b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece
    with socket.create_connection(("127.0.0.1", port), 60) as connection:
        try:
            connection.sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\n" + length + b"\r\n\r\n")
            for _ in range(mib):
                connection.sendall(framed)
            if chunked:
                connection.sendall(b"0\r\n\r\n")
        except OSError:
            pass  # refused before the end: an answer may wait all the same
        try:
            first = connection.recv(1000).split(b"\r\n")[0]
        except OSError:
            return None
    return int(first.split()[1]) if first else None
