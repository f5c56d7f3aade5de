"""User and password of BMCs, from a folder of files or from Secrets. They are kept in memory only, and never shown."""

from __future__ import annotations

import asyncio
import base64
import binascii
import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from wattpack.kube.client import ApiError, Client
from wattpack.kube.switches.config import RedfishConfig, filled
from wattpack.kube.switches.switch import SwitchError

FRESH_S = 60.0  # a Secret is read again after this long, so that a changed password is taken over


@dataclass(frozen=True)
class Credential:
    """`repr` and messages show neither: a password may be printed by nobody."""

    username: str = field(repr=False)
    password: str = field(repr=False)

    def header(self) -> str:
        """The value of `Authorization`, in UTF-8 as RFC 7617 wants it."""
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


class SecretBody(msgspec.Struct):
    data: dict[str, str] = {}


SECRET = msgspec.json.Decoder(SecretBody)


class Credentials:
    """Where `[sleep.redfish]` says they are."""

    def __init__(self, config: RedfishConfig, client: Client) -> None:
        self.config, self.client = config, client
        self._kept: dict[str, tuple[float, Credential]] = {}

    async def of(self, node: str) -> Credential:
        if self.config.credentials:
            return await asyncio.to_thread(read_folder, Path(filled(self.config.credentials, node)))
        name = filled(self.config.secret, node)
        read_at_s, credential = self._kept.get(name, (-FRESH_S, Credential("", "")))
        if time.monotonic() - read_at_s >= FRESH_S:
            credential = await self._read_secret(name)
            self._kept[name] = time.monotonic(), credential
        return credential

    async def _read_secret(self, name: str) -> Credential:
        namespace, _, short = name.partition("/")
        try:
            text = await self.client.call("GET", f"/api/v1/namespaces/{namespace}/secrets/{short}")
            data = {key: _text(value) for key, value in SECRET.decode(text).data.items()}
        except ApiError as fault:
            raise SwitchError(f"Secret {name}: {fault}") from None
        except (msgspec.MsgspecError, binascii.Error, UnicodeDecodeError):
            # `from None` and no text of the fault: it may quote what the Secret holds.
            raise SwitchError(f"Secret {name}: not readable, expected username and password as text") from None
        if not data.get("username") or not data.get("password"):
            raise SwitchError(f"Secret {name}: expected the keys username and password")
        return Credential(data["username"], data["password"])


def read_folder(folder: Path) -> Credential:
    """The files username and password of a folder, without the newline that editors leave at the end."""
    texts = {}
    for name in ("username", "password"):
        try:
            texts[name] = (folder / name).read_text(encoding="utf-8").rstrip("\r\n")
        except OSError as fault:
            raise SwitchError(f"{folder / name}: {fault.strerror or 'not readable'}, expected a text file") from None
        except UnicodeDecodeError:
            raise SwitchError(f"{folder / name}: not UTF-8, expected a text file") from None
        if not texts[name]:
            raise SwitchError(f"{folder / name}: empty, expected the {name} of the BMCs")
    return Credential(texts["username"], texts["password"])


def _text(encoded: str) -> str:
    return base64.b64decode(encoded, validate=True).decode()
