"""A running service as the page shows it: read-only, added up, with what shadow mode would have done."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from kube.api_in_memory import InMemory
from kube.sleep.made import World
from ui.page_server import LiveServer, SleepingServer
from ui.served import TOKEN, Front, served
from wattpack.kube.sleep.status import status_of

pytestmark = pytest.mark.compiled


def two_nodes(client: InMemory) -> None:
    client.add_node("a")
    client.add_node("b")
    client.add_pod("p")


@pytest.mark.parametrize("mode", ["choose", "shadow"])
def test_the_page_shows_what_the_service_says(tmp_path: Path, mode: str) -> None:
    live = LiveServer(two_nodes, mode=mode)

    async def test(front: Front) -> None:
        status, view = await front.ask("GET", "/api/live")
        assert status == 200, view
        told = live.service.state()
        assert (view["mode"], view["policy"], view["power_w"]) == (mode, "fgd", told["power_w"])
        assert (view["nodes"], view["gpus"], view["gpus_in_use"], view["waiting"]) == (2, 4, 0.0, 1)
        assert view["models"] == [
            {"model": "T4", "nodes": 2, "gpus": 4, "in_use": 0.0, "power_w": sum(n["power_w"] for n in told["nodes"])}
        ]
        assert (view["shadow"] is not None) == (mode == "shadow")
        assert view["decisions"] == []
        assert view["sleep"] is None  # the service has no [sleep]

    try:
        served(tmp_path, test, live=live.url)
    finally:
        live.stop()


def test_nodes_that_sleep_are_those_of_the_service_with_their_reasons(tmp_path: Path) -> None:
    def three_machines(world: World) -> None:
        for name in ("a", "b", "c"):
            world.add(name)
        world.api.add_pod("p", node="a", index="0")

    live = SleepingServer(three_machines, reserve=2)
    keeper = live.world.keeper
    live.wait(live.world.step())  # the nodes are seen

    async def test(front: Front) -> None:
        _, view = await front.ask("GET", "/api/live")
        sleep = view["sleep"]
        assert (sleep["mode"], sleep["may_sleep"], sleep["states"], sleep["nodes"]) == ("act", 3, {}, [])
        await asyncio.to_thread(live.wait, live.world.step_until_asleep("b"))
        _, view = await front.ask("GET", "/api/live")
        sleep, told = view["sleep"], status_of(keeper)
        (node,) = sleep["nodes"]
        own = next(row for row in told["nodes"] if row["node"] == "b")
        assert node == {key: own[key] for key in node}  # type: ignore[literal-required]
        assert (node["state"], node["why"], sleep["states"]) == ("asleep", "empty for 10m", {"asleep": 1})
        assert (sleep["saved_w"], sleep["changes"]["asleep"], sleep["errors"]) == (told["saved_w"], 1, 0)
        assert sum(model["power_w"] for model in view["models"]) == pytest.approx(view["power_w"])

    try:
        served(tmp_path, test, live=live.url)
    finally:
        live.stop()


def test_a_service_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    async def nobody(front: Front) -> None:
        status, answer = await front.ask("GET", "/api/live")
        assert status == 500
        assert "is `wattpack serve` running there?" in answer["error"]

    async def none(front: Front) -> None:
        status, answer = await front.ask("GET", "/api/live")
        assert status == 400
        assert "expected `wattpack ui --live ADDRESS`" in answer["error"]

    served(tmp_path, nobody, live="http://127.0.0.1:1")
    served(tmp_path, none)


def test_something_else_at_the_address_is_one_line(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        async with TestServer(web.Application()) as other:
            front.desk.live = str(other.make_url(""))
            status, answer = await front.ask("GET", "/api/live")
            assert status == 500
            assert "no /state there" in answer["error"]

    served(tmp_path, test)


def test_a_service_that_wants_a_token_gets_the_one_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test(front: Front) -> None:
        front.desk.live = front.address  # this page itself, which wants one too
        status, answer = await front.ask("GET", "/api/live")
        assert status == 500
        assert "answered 401, expected its token in WATTPACK_TOKEN" in answer["error"]
        monkeypatch.setenv("WATTPACK_TOKEN", TOKEN)
        status, answer = await front.ask("GET", "/api/live")
        assert "no /state there" in answer["error"]

    served(tmp_path, test)
