"""`wattpack ui`: each command of the guide serves what it names; what cannot be served is one line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from cli.files import write_nodes, write_tasks
from wattpack.cli import main
from wattpack.ui import serving
from wattpack.ui.app import Desk, new_app

GUIDE = (
    ("ui",),
    ("ui", "--datacenter", "nodes.csv", "--trace", "tasks.csv"),
    ("ui", "--results", "out/demo"),
    ("ui", "--live", "http://127.0.0.1:8888"),
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the page offers, for each time that it is served: asked once, then ended."""
    found: list[dict[str, Any]] = []

    def serve(desk: Desk, host: str, port: int, token: str, started: Callable[[str], None]) -> None:
        async def ask() -> None:
            headers = {"Authorization": f"Bearer {token}"}
            async with TestServer(new_app(desk, host, token)) as server, ClientSession(headers=headers) as session:
                started(f"http://{host}:{server.port}/")
                async with session.get(server.make_url("/api/choices")) as answer:
                    found.append(await answer.json())

        asyncio.run(ask())

    monkeypatch.setattr(serving, "serve", serve)
    monkeypatch.setattr(serving, "open_browser", lambda address, folder: found.append({"opened": address}))
    return found


@pytest.mark.parametrize("words", GUIDE, ids=" ".join)
def test_each_command_of_the_guide_serves_what_it_names(
    words: tuple[str, ...], asked: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    write_nodes(tmp_path)
    write_tasks(tmp_path)
    results = tmp_path / "out" / "demo"
    results.mkdir(parents=True)
    (results / "experiment.json").write_text('{"scenarios": []}\n')
    main(list(words))
    opened, offered = asked
    assert opened["opened"] in capsys.readouterr().out
    names = [own["name"] for own in (*offered["datacenters"], *offered["traces"])]
    given = [word for word in words if word.endswith(".csv")]
    assert set(given) | {"alibaba2023", "default"} <= set(names)
    assert [run["title"] for run in offered["runs"]] == [str(results)] * ("--results" in words)
    assert offered["live"] == ("http://127.0.0.1:8888" if "--live" in words else "")
    assert not (tmp_path / "wattpack-ui").exists()  # nothing is written before something is run


def test_no_browser_only_prints_the_address(asked: list[dict[str, Any]], tmp_path: Path, capsys: Any) -> None:
    main(["ui", "--no-browser", "--out", str(tmp_path / "out")])
    assert len(asked) == 1
    assert capsys.readouterr().out.startswith("wattpack: http://127.0.0.1:")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--port", "70000"), "--port 70000, expected 0 (a free one) to 65535"),
        (("--host", "0.0.0.0"), "--host 0.0.0.0: others can reach it, expected --token TEXT or WATTPACK_UI_TOKEN too"),
        (("--token", "short"), "--token of 5 letters, expected at least 8 letters, digits or any of -._~"),
        (("--host", "nowhere"), "--host 'nowhere', expected an IP address like 127.0.0.1"),
        (("--results", "nowhere"), "--results nowhere: no experiment.json in it, expected a results folder"),
        (("--power", "nowhere"), "nowhere: cannot be read (No such file or directory), expected a power file (TOML)"),
        (("--live", "nowhere"), "--live 'nowhere', expected an address like http://127.0.0.1:8888"),
    ],
)
def test_what_cannot_be_served_is_one_line(
    words: tuple[str, ...], said: str, asked: list[dict[str, Any]], tmp_path: Path, capsys: Any
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["ui", "--no-browser", "--out", str(tmp_path / "out"), *words])
    assert capsys.readouterr().err == f"wattpack: {said}\n"
    assert asked == []
