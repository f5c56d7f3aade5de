"""`import`, `fit` and `serve --check` of a cluster that answers over HTTP: what it answers instead of its lists."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kube.made import node_json, pod_json
from kube.mixed import GPU, claiming, slice_json
from wattpack.cli import main

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"
DEVICES = "/apis/resource.k8s.io/v1/"
Answers = Mapping[str, tuple[int, object]]  # by path; anything else is not found
CLUSTER: Answers = {
    NODES: (200, {"items": [node_json("n", gpus=2), node_json("claims")]}),
    PODS: (200, {"items": [pod_json("p", node="n", **{GPU: "1"}), pod_json("q", node="n", namespace="other")]}),
}


@contextmanager
def kubeconfig(folder: Path, answers: Answers) -> Iterator[str]:
    """A kubeconfig that leads to an API server on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, said = answers.get(self.path.split("?")[0], (404, {"message": "not found"}))
            body = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    file = folder / "kubeconfig"
    context = {"name": "c", "context": {"cluster": "k", "user": "u"}}
    clusters = [{"name": "k", "cluster": {"server": address}}]
    users = [{"name": "u", "user": {"token": "t"}}]
    file.write_text(json.dumps({"current-context": "c", "contexts": [context], "clusters": clusters, "users": users}))
    try:
        yield str(file)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("path", "answer", "expected"),
    [
        (NODES, (200, b"<html>log in</html>"), f"GET {NODES}: JSON is malformed: invalid character (byte 0), expected"),
        (
            PODS,
            (200, {"items": [{"metadata": {"name": 7}}]}),
            f"GET {PODS}: an object without a name cannot be decoded: ",
        ),
        (PODS, (403, {"message": "pods is forbidden"}), "403: pods is forbidden"),
        (
            f"{DEVICES}resourceslices",
            (200, {"items": "x"}),
            f"GET {DEVICES}resourceslices: Expected `array | null`, got",
        ),
        (PODS, (200, {}), f"GET {PODS}: Object missing required field `items`, expected a list of"),
        (f"{DEVICES}resourceclaims", (500, {"message": "etcd"}), "500: etcd"),
    ],
)
def test_an_answer_that_is_no_list_is_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, answer: tuple[int, object], expected: str
) -> None:
    with kubeconfig(tmp_path, {**CLUSTER, path: answer}) as file, pytest.raises(SystemExit) as ended:
        main(["import", "--kubeconfig", file, "--out", str(tmp_path / "out")])
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert said.startswith(f"wattpack: the cluster cannot be asked: {expected}")
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_serve_check_says_in_one_line_that_pods_may_not_be_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = {**CLUSTER, PODS: (403, {"message": "pods is forbidden"})}
    with kubeconfig(tmp_path, answers) as file, pytest.raises(SystemExit) as ended:
        main(["serve", "--check", "--kubeconfig", file])
    said = capsys.readouterr().err
    assert (ended.value.code, said.count("\n")) == (1, 1)
    assert said.endswith(": 403: pods is forbidden\n")


def test_serve_check_of_a_cluster_says_what_auto_chooses_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w.toml").write_text('policy = "auto"\n')
    with kubeconfig(tmp_path, CLUSTER) as file:
        main(["serve", "--check", "--config", str(tmp_path / "w.toml"), "--kubeconfig", file])
    assert "  auto -> fgd, because fewer than 100 pods have been seen" in capsys.readouterr().out


def test_lists_of_claims_that_may_not_be_read_are_named_and_pods_with_claims_not_understood(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forbidden = {f"{DEVICES}{name}": (403, {"message": "no"}) for name in ("resourceslices", "resourceclaims")}
    pods = (200, {"items": [claiming("p", "c"), pod_json("q", namespace="other")]})
    with kubeconfig(tmp_path, {**CLUSTER, PODS: pods, **forbidden}) as file:
        main(["import", "--kubeconfig", file, "--out", str(tmp_path / "out")])
        said = capsys.readouterr()
        assert "assumed     2 lists  no right to read them: as if no GPU were given out by resource claims" in said.out
        assert "team/p on claims (resource claim gpu)" in said.err
        (tmp_path / "pod.json").write_text(json.dumps(pod_json("wish", **{GPU: "1"})))
        main(["fit", "-f", str(tmp_path / "pod.json"), "--kubeconfig", file, "--policy", "fgd"])
    assert "resourceslices, resourceclaims: no right to read them" in capsys.readouterr().err


def test_claims_and_slices_are_read_where_that_is_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slices = {f"{DEVICES}resourceslices": (200, {"items": [slice_json("claims", 4)]})}
    with kubeconfig(tmp_path, {**CLUSTER, **slices}) as file:
        main(["import", "--kubeconfig", file, "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    assert "understood  2 nodes  6 GPUs (A100-SXM4-80GB, T4)" in said
    assert "lists" not in said
