"""`wattpack serve --check`, `wattpack fit`, `wattpack explain --live` through their front door."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp.test_utils import TestServer

from kube.api_in_memory import InMemory, asked, started
from wattpack.cli import main
from wattpack.kube.app import new_app


@contextmanager
def running(client: InMemory) -> Iterator[str]:
    """The service in a thread; the address it listens on."""
    loop = asyncio.new_event_loop()
    ready, stop, address = threading.Event(), asyncio.Event(), []

    async def serve() -> None:
        service = await started(client)
        await service.filter(asked(client.pod("p"), "a", "b"))
        async with TestServer(new_app(service)) as server:
            address.append(str(server.make_url("")))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    ready.wait(60)
    try:
        yield address[0].rstrip("/")
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def small_cluster() -> InMemory:
    client = InMemory()
    client.add_node("a")
    client.add_node("b")
    client.add_pod("p")
    return client


def pod_file(folder: Path, count: int = 1, kind: str = "Pod") -> str:
    annotations = {"alibabacloud.com/gpu-milli": "1000", "alibabacloud.com/gpu-count": str(count)}
    container = {"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    pod = {"metadata": {"name": "wish", "annotations": annotations}, "spec": {"containers": [container]}}
    whole = (
        {"kind": kind, "metadata": {"name": "wish"}, "spec": {"template": pod}}
        if kind != "Pod"
        else {**pod, "kind": kind}
    )
    file = folder / "pod.yaml"
    file.write_text(json.dumps(whole))  # JSON is YAML
    return str(file)


def cluster_file(folder: Path, client: InMemory) -> str:
    items = [{**node, "kind": "Node"} for node in client.nodes.values()]
    items += [{**pod, "kind": "Pod"} for pod in client.pods.values()]
    file = folder / "cluster.json"
    file.write_text(json.dumps({"kind": "List", "items": items}))
    return str(file)


def code_of(words: list[str]) -> object:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return ended.value.code


def test_serve_check_says_what_a_good_configuration_means(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "w.toml"
    file.write_text('policy = "fgd"\ndialect = "kai"\n')
    main(["serve", "--check", "--config", str(file), "--policy", "ocs"])
    said = capsys.readouterr().out
    assert f"{file}: good" in said
    assert "ocs" in said
    assert "kai" in said


def test_serve_check_without_a_cluster_says_how_to_see_what_auto_chooses(capsys: pytest.CaptureFixture[str]) -> None:
    main(["serve", "--check", "--policy", "auto"])
    said = capsys.readouterr().out
    assert "auto chooses when the nodes are known: add --kubeconfig FILE" in said


def test_serve_refuses_a_bad_configuration_with_exit_2_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "w.toml"
    file.write_text("polcy = 1\n")
    assert code_of(["serve", "--check", "--config", str(file)]) == 2
    told = capsys.readouterr().err
    assert "polcy" in told
    assert told.count("\n") == 1
    assert code_of(["serve", "--check", "--policy", "nonesuch"]) == 2


def test_serve_without_a_cluster_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert code_of(["serve", "--kubeconfig", str(tmp_path / "missing")]) == 2
    assert "missing" in capsys.readouterr().err
    broken = tmp_path / "kubeconfig"
    broken.write_text("current-context: a\n")
    assert code_of(["serve", "--kubeconfig", str(broken)]) == 2
    assert "contexts has no 'a'" in capsys.readouterr().err
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert code_of(["serve"]) == 2
    assert "no cluster" in capsys.readouterr().err


def test_fit_tells_where_a_pod_of_files_would_go_and_what_it_costs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fit", "-f", pod_file(tmp_path), "--file", cluster_file(tmp_path, small_cluster())]
    main([*words, "--policy", "pwr"])
    said = capsys.readouterr().out
    assert "decision: pwr: a GPU 0 chosen among 2 nodes that fit of 2: +165.0 W" in said


@pytest.mark.parametrize("kind", ["Deployment", "Job", "StatefulSet"])
def test_fit_reads_the_pod_out_of_a_template(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["fit", "-f", pod_file(tmp_path, kind=kind), "--file", cluster_file(tmp_path, small_cluster())])
    assert "wish (1000 milli-vCPU, 1024 MiB, 1 GPU x 1000 milli)" in capsys.readouterr().out


def test_fit_of_what_fits_nowhere_says_what_is_missing_and_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fit", "-f", pod_file(tmp_path, count=5), "--file", cluster_file(tmp_path, small_cluster())]
    assert code_of(words) == 1
    said = capsys.readouterr().out
    assert "3 whole free GPUs" in said
    assert "fits none of 2 nodes" in said


@pytest.mark.parametrize("text", ["", "kind: Service\n", "{", "- 1\n", "kind: Pod\nspec: 3\n"])
def test_fit_refuses_a_file_without_a_pod(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(text)
    assert code_of(["fit", "-f", str(file), "--file", cluster_file(tmp_path, small_cluster())]) == 2
    told = capsys.readouterr().err
    assert "odd.yaml" in told
    assert told.count("\n") == 1


def test_fit_and_explain_ask_a_running_service(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with running(small_cluster()) as server:
        main(["fit", "-f", pod_file(tmp_path), "--server", server])
        assert "decision: fgd: a GPU 1" in capsys.readouterr().out
        main(["explain", "--live", "default/p", "--server", server])
        said = capsys.readouterr().out
        assert "default/p (1000 milli-vCPU, 1024 MiB, 1 GPU x 500 milli)" in said
        assert "decision: fgd: a GPU 0 chosen among 2 nodes" in said
        assert code_of(["explain", "--live", "default/nobody", "--server", server]) == 2
        assert "no pod default/nobody" in capsys.readouterr().err


def test_a_service_that_is_not_there_is_told_with_exit_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(["explain", "--live", "default/p", "--server", "http://127.0.0.1:9"]) == 1
    assert "is `wattpack serve` running there?" in capsys.readouterr().err


def test_explain_wants_files_or_a_pod(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(["explain"]) == 2
    assert "--live NAMESPACE/POD" in capsys.readouterr().err
    assert code_of(["explain", "--live", "nonamespace"]) == 2
