"""User and password of BMCs come from files or Secrets, and are read again when they may have changed."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kube.api_in_memory import InMemory, in_a_loop
from wattpack.kube.client import ApiError
from wattpack.kube.switches import credentials as credentials_module
from wattpack.kube.switches.config import RedfishConfig
from wattpack.kube.switches.credentials import Credential, Credentials, read_folder
from wattpack.kube.switches.switch import SwitchError


class SecretsInMemory(InMemory):
    def __init__(self, **data: str) -> None:
        super().__init__()
        self.data = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}

    async def call(self, method: str, path: str, body: Any = None, timeout_s: float | None = None) -> bytes:
        self.sent.append((method, path, body))
        if not self.data:
            raise ApiError(404, 'secrets "gpu-7" not found')
        return msgspec.json.encode({"kind": "Secret", "data": self.data})


@in_a_loop
async def test_a_secret_of_each_node_is_read_once_a_minute() -> None:
    client = SecretsInMemory(username="me", password="pässword")
    secrets = Credentials(RedfishConfig(secret="bmc/{node}"), client)
    for _ in range(2):
        assert await secrets.of("gpu-7") == Credential("me", "pässword")
    assert client.sent == [("GET", "/api/v1/namespaces/bmc/secrets/gpu-7", None)]


def test_a_changed_secret_is_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials_module, "FRESH_S", 0.0)

    @in_a_loop
    async def work() -> None:
        client = SecretsInMemory(username="me", password="old")
        secrets = Credentials(RedfishConfig(secret="bmc/all"), client)
        assert (await secrets.of("gpu-7")).password == "old"
        client.data["password"] = base64.b64encode(b"new").decode()
        assert (await secrets.of("gpu-7")).password == "new"

    work()


@in_a_loop
async def test_a_secret_that_cannot_be_used_is_named_without_what_it_holds() -> None:
    for data, expected in [
        ({}, 'Secret bmc/all: 404: secrets "gpu-7" not found'),
        ({"username": "me", "token": "hidden"}, "Secret bmc/all: expected the keys username and password"),
    ]:
        with pytest.raises(SwitchError) as caught:
            await Credentials(RedfishConfig(secret="bmc/all"), SecretsInMemory(**data)).of("gpu-7")
        assert str(caught.value) == expected
    client = SecretsInMemory(username="me", password="hidden")
    client.data["password"] = "hidden but no base64"
    with pytest.raises(SwitchError, match=r"^Secret bmc/all: not readable, expected username and password as text$"):
        await Credentials(RedfishConfig(secret="bmc/all"), client).of("gpu-7")


def test_files_are_read_without_the_newline_at_their_end(tmp_path: Path) -> None:
    (tmp_path / "username").write_text("me\n")
    (tmp_path / "password").write_text(" with spaces \n")
    assert read_folder(tmp_path) == Credential("me", " with spaces ")


@pytest.mark.parametrize(("content", "expected"), [(None, "No such file"), (b"", "empty"), (b"\xff", "not UTF-8")])
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None, expected: str) -> None:
    (tmp_path / "username").write_text("me")
    if content is not None:
        (tmp_path / "password").write_bytes(content)
    with pytest.raises(SwitchError, match=f"password: {expected}"):
        read_folder(tmp_path)


def test_printing_a_credential_shows_neither_user_nor_password() -> None:
    assert repr(Credential("me", "hidden")) == "Credential()"
