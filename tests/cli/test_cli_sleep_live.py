"""`wattpack sleep status|wake|hold` through their front door, at a cluster and without a service."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from kube.sleep.made import World
from wattpack.cli import ask_nodes, main
from wattpack.kube.sleep import people
from wattpack.kube.sleep.states import State


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Two nodes, n0 asleep, reached in place of a cluster."""
    world = World(machines=2, reserve=2)

    async def sleep() -> None:
        await (await world.start()).step_until_asleep("n0")

    asyncio.run(sleep())

    async def get_node(_: object, name: str):  # type: ignore[no-untyped-def]
        world.follow()
        await asyncio.sleep(0)
        return world.api.node(name)

    monkeypatch.setattr(people, "get_node", get_node)
    monkeypatch.setattr(people, "LOOK_S", 0.0)
    monkeypatch.setattr(ask_nodes, "at_cluster", lambda _, work: asyncio.run(work(world.api)))
    for command in ("sleep_status", "sleep_wake", "sleep_hold"):
        monkeypatch.setattr(f"wattpack.cli.commands.{command}.at_cluster", ask_nodes.at_cluster)
    monkeypatch.setattr("wattpack.kube.switches.registry.new_switch", lambda *_: world.machines)
    return world


def run(*words: str) -> int:
    """The exit code."""
    try:
        main(["sleep", *words])
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_status_names_the_nodes_that_sleep_and_says_how_to_undo_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("status") == 0
    assert "empty for 10m" in capsys.readouterr().out
    assert run("status", "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)["nodes"]
    assert (row["node"], row["state"]) == ("n0", "asleep")
    assert "kubectl uncordon n0" in row["undo"]


def test_wake_all_without_the_service_leaves_nothing_behind(world: World, tmp_path, capsys) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "serve.toml"
    file.write_text('[sleep]\nnodes = "pool=gpu"\npower = "command"\n[sleep.command]\nargv = ["x"]\n')
    assert run("wake", "--all", "--direct", "--config", str(file), "--timeout", "5s") == 0
    assert "n0: awake" in capsys.readouterr().out
    assert world.is_open("n0")
    assert run("wake", "--all", "--direct", "--config", str(file)) == 0
    assert capsys.readouterr().out == "no node sleeps\n"


def test_a_node_that_could_not_be_woken_is_named_and_the_exit_code_is_1(
    world: World,
    tmp_path,
    capsys: pytest.CaptureFixture[str],  # type: ignore[no-untyped-def]
) -> None:
    world.machines.away = True
    file = tmp_path / "serve.toml"
    file.write_text('[sleep]\nnodes = "pool=gpu"\npower = "command"\n[sleep.command]\nargv = ["x"]\n')
    assert run("wake", "n0", "--direct", "--config", str(file), "--timeout", "0.1s") == 1
    assert "not awake: n0: n0: no answer" in capsys.readouterr().err
    assert world.state("n0") is State.TURNING_ON


def test_without_a_service_the_wish_stays_on_the_node(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("wake", "n0", "--timeout", "0") == 1
    assert "is the service running, in mode act?" in capsys.readouterr().err
    assert world.api.node("n0").metadata.annotations["wattpack.io/sleep-ask"] == "wake"


def test_hold_is_written_and_taken_back(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("hold", "n1") == 0
    assert world.api.node("n1").metadata.annotations["wattpack.io/sleep-ask"] == "hold"
    assert run("hold", "n1", "--off") == 0
    assert "wattpack.io/sleep-ask" not in world.api.node("n1").metadata.annotations


@pytest.mark.parametrize("words", [("wake",), ("wake", "n0", "--all"), ("wake", "nobody"), ("hold", "nobody")])
def test_names_that_are_missing_or_unknown_are_one_line(
    world: World, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    assert capsys.readouterr().err.count("\n") == 1


KUBECONFIG = """apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
"""
SLEEP = """[sleep]
mode = "act"
nodes = "pool=gpu"
reserve = 0
floor = 0
power = "command"
[sleep.command]
argv = ["true"]
"""


def test_serve_check_says_what_a_live_look_finds_on_the_nodes_that_it_would_switch_off(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("wattpack.kube.client.Client", lambda *_: world.api)
    for name, text in (("kubeconfig", KUBECONFIG), ("wattpack.toml", SLEEP)):
        (tmp_path / name).write_text(text)
    world.api.add_claim("one", "n1", "uid-on-its-way")
    files = ["--config", str(tmp_path / "wattpack.toml"), "--kubeconfig", str(tmp_path / "kubeconfig")]
    main(["serve", "--check", *files])
    told = capsys.readouterr().out
    assert "would switch off 1 node" in told
    assert "n1 would stay on: resource claim default/one holds devices of it; read live: pods at " in told
    world.api.claims.clear()
    main(["serve", "--check", *files])
    assert "n1: 0 pods of its own; read live: pods at " in capsys.readouterr().out
    assert world.api.patches[-1] == "asleep"  # of n0: nothing was changed
