"""Machines that a service of the user switches: POST {"action": "read"|"on"|"off", "node": ..., "providerID": ...}.

Any 2xx accepts `on` and `off`, which may come several times. `read` is answered with {"power": "on"|"off"|"changing"}.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from wattpack.kube.switches.config import WebhookConfig
from wattpack.kube.switches.http_call import Answer, call, new_session
from wattpack.kube.switches.switch import Machine, Power, Sure, SwitchError


class State(msgspec.Struct):
    power: Power


STATE = msgspec.json.Decoder(State)


class Webhook:
    def __init__(self, config: WebhookConfig) -> None:
        self.config = config
        self.session = new_session(config.ca_file, config.verify, config.timeout_s)

    async def read(self, machine: Machine) -> Power:
        answer = await self._post(machine, "read")
        try:
            return STATE.decode(answer.body).power
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise SwitchError(
                f'{machine.node}: the webhook\'s answer to read is not understood, expected {{"power": "on"}}, off, '
                "changing or unknown"
            ) from None

    async def turn_off(self, machine: Machine, sure: Sure) -> None:
        await self._post(machine, "off", sure)

    async def turn_on(self, machine: Machine) -> None:
        await self._post(machine, "on")

    async def close(self) -> None:
        await self.session.close()

    async def _post(self, machine: Machine, action: str, sure: Sure | None = None) -> Answer:
        headers = {}
        if self.config.token_file:
            token = await asyncio.to_thread(self._token)
            headers["Authorization"] = f"Bearer {token}"
        body = {"action": action, "node": machine.node, "providerID": machine.provider_id}
        if sure is not None:
            await sure()
        answer = await call(self.session, "POST", self.config.url, body, headers)
        if not 200 <= answer.status < 300:
            raise SwitchError(f"{machine.node}: the webhook answered {answer.status} to {action}")
        return answer

    def _token(self) -> str:
        """Read at every call: tokens are renewed in place."""
        file = Path(self.config.token_file)
        try:
            token = file.read_text(encoding="utf-8").strip()
        except OSError as fault:
            raise SwitchError(f"{file}: {fault.strerror or 'not readable'}, expected a token") from None
        except UnicodeDecodeError:
            raise SwitchError(f"{file}: not UTF-8, expected a token") from None
        if not token or not token.isprintable():
            raise SwitchError(f"{file}: expected a token in one line")
        return token
