"""The extender alone: prioritize at 1,213 nodes, asked over HTTP as kube-scheduler asks it; latency, rate, memory.

A real apiserver holds the nodes and has nothing else to do. The service is held to one core and the one who asks to the
others. Requests are sent as bytes made ahead, on connections that are kept: what is measured is the service.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.control_plane import binaries, e2e

LATENCY_REQUESTS = 5_000
RATE_REQUESTS = 10_000
MEMORY_REQUESTS = 100_000
CONNECTIONS = 4  # kube-scheduler asks one at a time; more only keep the service busy while answers are read
PODS = 1000


def requests(verb: str) -> list[bytes]:
    """One request a pod, with the names of all nodes."""
    from wattpack.datasets import alibaba2023

    names = list(alibaba2023.datacenter().names)
    made = []
    for i, pod in enumerate(e2e().nodes_and_pods.pod_objects(e2e().live_run.first_tasks(PODS))):
        pod["metadata"]["uid"] = f"benchmark-{i}"
        body = json.dumps({"Pod": pod, "Nodes": None, "NodeNames": names}, separators=(",", ":")).encode()
        head = f"POST /{verb} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        made.append(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return made


class Connection:
    """A connection that is kept, reduced to what it takes to tell where an answer ends."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, request: bytes) -> None:
        self.socket.sendall(request)

    def receive(self) -> bytes:
        """The whole answer; only status 200 is one."""
        data = self.socket.recv(1 << 20)
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self.socket.recv(1 << 20)
        head = data[:end].lower()
        assert head.startswith(b"http/1.1 200"), data[:300]
        length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        while len(data) < end + 4 + length:
            more = self.socket.recv(1 << 20)
            assert more, "the service hung up"
            data += more
        return data[end + 4 :]


def latency_ms(port: int, made: Sequence[bytes], count: int) -> list[float]:
    """Milliseconds from the first byte sent to the last received, one request after the other; sorted."""
    connection, times = Connection(port), []
    for request in itertools.islice(itertools.cycle(made), count):
        start = time.perf_counter()
        connection.send(request)
        connection.receive()
        times.append(1000 * (time.perf_counter() - start))
    return sorted(times)


def flood(port: int, made: Sequence[bytes], count: int) -> float:
    """Requests a second with several connections, each with one request under way."""
    connections = {made_.socket.fileno(): made_ for made_ in (Connection(port) for _ in range(CONNECTIONS))}
    pending: Iterator[bytes] = itertools.islice(itertools.cycle(made), count)
    poll = select.poll()
    start = time.perf_counter()
    for number, connection in connections.items():
        poll.register(number, select.POLLIN)
        connection.send(next(pending))
    done = 0
    while done < count:
        for number, _ in poll.poll():
            connections[number].receive()
            done += 1
            if (request := next(pending, None)) is not None:
                connections[number].send(request)
    return count / (time.perf_counter() - start)


def measure() -> dict[str, Any]:
    parts = e2e()
    from wattpack.datasets import alibaba2023

    rows: list[dict[str, Any]] = []
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder, parts.cluster.Cluster(binaries(), Path(folder)) as cluster:
        cluster.admin.create_many("/api/v1/nodes", parts.nodes_and_pods.node_objects(alibaba2023.datacenter()))
        service = parts.service.Service(
            cluster.processes, cluster.kubeconfig(), policy="pwr:0.1+fgd:0.9", target="default", mode="score"
        ).start()
        os.sched_setaffinity(cluster.processes.pid(service.name), cores[:1])
        os.sched_setaffinity(0, cores[1:] or cores)
        try:
            for verb in ("prioritize", "filter"):
                made = requests(verb)
                latency_ms(service.port, made, len(made))  # every pod's class is known after that
                before_s = cluster.processes.cpu_seconds(service.name)
                times = latency_ms(service.port, made, LATENCY_REQUESTS)
                cpu_s = cluster.processes.cpu_seconds(service.name) - before_s
                rows.append(
                    {
                        "verb": verb,
                        "nodes": len(alibaba2023.datacenter()),
                        "request_kb": round(len(made[0]) / 1000, 1),
                        "p50_ms": round(times[len(times) // 2], 2),
                        "p99_ms": round(times[len(times) * 99 // 100], 2),
                        "longest_ms": round(times[-1], 2),
                        # what it takes of its core; on a busy machine this says more than the times above
                        "cpu_ms_a_request": round(1000 * cpu_s / LATENCY_REQUESTS, 3),
                        "requests_a_second": round(flood(service.port, made, RATE_REQUESTS)),
                    }
                )
            made = requests("prioritize")
            mib = [round(cluster.processes.resident_mib(service.name), 1)]
            for _ in range(10):
                flood(service.port, made, MEMORY_REQUESTS // 10)
                mib.append(round(cluster.processes.resident_mib(service.name), 1))
        finally:
            os.sched_setaffinity(0, cores)
        rows.append({"what": f"resident MiB, each {MEMORY_REQUESTS // 10:,} requests further", "mib": mib})
    return {"what": "one service on one core, score mode, pwr:0.1+fgd:0.9", "rows": rows}
