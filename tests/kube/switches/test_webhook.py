"""A service of the user's own that switches machines."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from kube.switches.bmc import in_a_loop, sure
from wattpack.kube.switches.config import WebhookConfig
from wattpack.kube.switches.switch import Machine, Power, SwitchError
from wattpack.kube.switches.webhook import Webhook

MACHINE = Machine("gpu-7", {}, "rack://a/7")
TOKEN = "token-of-the-webhook"


async def with_hook(folder: Path, **config: Any) -> tuple[TestServer, Webhook, list[Any], dict[str, Any]]:
    asked: list[Any] = []
    answer: dict[str, Any] = {"status": 200, "body": b'{"power": "off"}', "delay_s": 0}
    (folder / "token").write_text(f"{TOKEN}\n")

    async def handle(request: web.Request) -> web.Response:
        asked.append((request.headers.get("Authorization"), await request.json()))
        await asyncio.sleep(answer["delay_s"])
        return web.Response(status=answer["status"], body=answer["body"])

    app = web.Application()
    app.router.add_post("/power", handle)
    server = TestServer(app, host="127.0.0.1")
    await server.start_server()
    url = str(server.make_url("/power"))
    config = {"url": url, "token_file": str(folder / "token"), "timeout_s": 5, **config}
    return server, Webhook(WebhookConfig(**config)), asked, answer


@in_a_loop
async def test_orders_and_questions_are_posted_with_the_token_of_the_file(folder: Path) -> None:
    server, switch, asked, _ = await with_hook(folder)
    try:
        await switch.turn_off(MACHINE, sure)
        await switch.turn_on(MACHINE)
        assert await switch.read(MACHINE) is Power.OFF
        (folder / "token").write_text("renewed")
        await switch.read(MACHINE)
    finally:
        await switch.close()
        await server.close()
    bodies = [
        {"action": action, "node": "gpu-7", "providerID": "rack://a/7"} for action in ("off", "on", "read", "read")
    ]
    assert [body for _, body in asked] == bodies
    assert [header for header, _ in asked] == [f"Bearer {TOKEN}"] * 3 + ["Bearer renewed"]


@in_a_loop
async def test_what_goes_wrong_is_told_in_one_line_without_the_token(folder: Path) -> None:
    server, switch, _, answer = await with_hook(folder, timeout_s=0.3)
    try:
        for change, expected in [
            ({"status": 500, "body": TOKEN.encode()}, "^gpu-7: the webhook answered 500 to read$"),
            ({"status": 302}, "^gpu-7: the webhook answered 302 to read$"),
            ({"status": 200, "body": b'{"power": "maybe"}'}, "answer to read is not understood"),
            ({"body": b"\xff"}, "answer to read is not understood"),
            ({"delay_s": 2}, r"no answer within 0\.3 s"),
        ]:
            answer.update(change)
            with pytest.raises(SwitchError, match=expected) as caught:
                await switch.read(MACHINE)
            assert TOKEN not in str(caught.value)
        (folder / "token").unlink()
        with pytest.raises(SwitchError, match="token: No such file or directory, expected a token"):
            await switch.turn_off(MACHINE, sure)
        (folder / "token").write_text("two\nlines")
        with pytest.raises(SwitchError, match="expected a token in one line"):
            await switch.turn_off(MACHINE, sure)
    finally:
        await switch.close()
        await server.close()


@in_a_loop
async def test_a_webhook_that_is_gone_is_an_error_of_one_line(folder: Path) -> None:
    server, switch, _, _ = await with_hook(folder)
    await server.close()
    try:
        with pytest.raises(SwitchError, match=r"^POST http://127\.0\.0\.1:\d+/power: no answer: "):
            await switch.turn_on(MACHINE)
    finally:
        await switch.close()
