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
from kube.made import node_json, pod_json
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


# ---- all faults at once


def faults_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line of an error with exit code 2."""
    assert code_of(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_serve_check_tells_all_faults_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "w.toml"
    file.write_text(
        'polcy = 1\nmode = "chose"\nseed = -1\ndialect = "runai"\n'
        '[server]\nport = "x"\nhots = "y"\ntimeout_s = 0\n[lease]\nduration_s = 0\n'
        '[sleep]\nidle = "soon"\nfloor = "no"\n'
    )
    words = ["serve", "--check", "--config", str(file), "--policy", "nonesuch", "--host", "0.0.0.0"]
    line = faults_of([*words, "--kubeconfig", str(tmp_path / "missing")], capsys)
    for fault in (
        "polcy: unknown field `polcy`, known keys: policy, ",
        "mode: Invalid enum value 'chose'",
        "seed: -1, expected 0 or more",
        "dialect: unknown dialect 'runai'",
        "server.port: Expected `int`, got `str`",
        "server.hots: unknown field `hots`, known keys: host, ",
        "server.timeout_s: 0.0, expected above 0",
        "lease.duration_s: 0",
        "sleep.idle: ",
        "sleep.floor: Expected `int`, got `str`",
        "policy: ",
        "nonesuch",
        "server.host: '0.0.0.0' can be reached by others",
        f"{tmp_path / 'missing'}: ",
    ):
        assert fault in line


@pytest.mark.parametrize(
    "toml",
    [
        *(f'{name} = "a\\u0000b"' for name in ("policy", "target", "prometheus", "power_file", "gpu_model_label")),
        'dialect = ["kai\\u0000"]',
        *(f'[server]\n{name} = "a\\u0000b"' for name in ("host", "metrics_host", "token_file", "client_ca")),
        '[lease]\nname = "a\\u0000"',
        '[models]\n"a\\u0000" = "T4"',
        '[sleep]\nnodes = "a\\u0000"',
    ],
)
def test_a_nul_in_the_configuration_is_one_line(toml: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.toml").write_text(toml)
    for check in ([], ["--check"]):
        assert "a NUL" in faults_of(["serve", *check, "--config", str(tmp_path / "w.toml")], capsys)


@pytest.mark.parametrize("option", ["--config", "--kubeconfig", "--policy", "--host", "--prometheus", "--dialect"])
def test_a_nul_in_an_option_of_serve_is_one_line(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "a NUL" in faults_of(["serve", "--check", option, "a\0b"], capsys)


def test_dialect_on_the_command_line_is_above_the_one_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w.toml").write_text('dialect = "kai"\n')
    main(["serve", "--check", "--config", str(tmp_path / "w.toml"), "--dialect", "nvidia", "--dialect", "hami"])
    assert "['nvidia', 'hami']" in capsys.readouterr().out
    assert "unknown dialect 'runai'" in faults_of(["serve", "--check", "--dialect", "runai"], capsys)


def test_fit_reads_only_the_dialects_that_it_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = pod_json("held", node="n", annotations={"gpu-fraction": "0.5"})
    items = [node_json("n", gpus=1), whole]
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": items}))
    (tmp_path / "p.json").write_text(json.dumps(pod_json("p", **{"nvidia.com/gpu": "1"})))
    words = ["fit", "-f", str(tmp_path / "p.json"), "--file", str(tmp_path / "c.json"), "--policy", "fgd"]
    assert code_of(words) == 1
    capsys.readouterr()
    main([*words, "--dialect", "nvidia"])
    assert "fgd: n GPU 0 chosen" in capsys.readouterr().out
    assert "--server" in faults_of([*words, "--dialect", "nvidia", "--server", "http://127.0.0.1:1"], capsys)
