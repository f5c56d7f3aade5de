"""Who may ask the service, and on which address."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientConnectionError, ClientSession, TCPConnector

from kube.api_in_memory import InMemory, started
from kube.switches.certificate import self_signed
from kube.test_app import Front, ask
from wattpack.cli import main
from wattpack.kube.authentication import Tls, is_loopback, problems_of_server
from wattpack.kube.config import Server
from wattpack.kube.run import listen

SECRET, FOR_METRICS = "a-secret-of-the-service", "a-secret-of-prometheus"
EVERYWHERE = "0.0.0.0"
ASKED = ("/filter", "/prioritize", "/bind", "/fit")
READ = ("/state", "/decisions", "/power", "/explain/default/p", "/openapi.json", "/metrics")


@pytest.fixture(autouse=True)
def no_token_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATTPACK_TOKEN", raising=False)


def tokens(folder: Path) -> dict[str, str]:
    files = {"token_file": SECRET, "metrics_token_file": FOR_METRICS}
    for name, text in files.items():
        (folder / name).write_text(f"{text}\n")
    return {name: str(folder / name) for name in files}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def status_of(front: Front, method: str, path: str, headers: dict[str, str]) -> int:
    async with front.session.request(method, front.server.make_url(path), headers=headers) as answer:
        assert answer.status != 401 or answer.headers["WWW-Authenticate"].startswith("Bearer")
        return answer.status


def test_only_probes_are_answered_without_the_token(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        wrong: tuple[dict[str, str], ...] = ({}, bearer("another-secret-of-nobody"), bearer(""), bearer(SECRET[:-1]))
        for method, path in [*(("POST", path) for path in ASKED), *(("GET", path) for path in READ)]:
            for headers in wrong:
                assert await status_of(front, method, path, headers) == 401, path
            assert await status_of(front, method, path, bearer(SECRET)) not in (401, 403), path
        for path in ("/healthz", "/readyz"):
            assert await status_of(front, "GET", path, {}) == 200
        assert await status_of(front, "GET", "/nonesuch", {}) == 404

    ask(test, server=Server(host=EVERYWHERE, **tokens(tmp_path)))


def test_the_token_of_prometheus_opens_the_metrics_and_nothing_else(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        assert await status_of(front, "GET", "/metrics", bearer(FOR_METRICS)) == 200
        for method, path in [*(("POST", path) for path in ASKED), *(("GET", path) for path in READ[:-1])]:
            assert await status_of(front, method, path, bearer(FOR_METRICS)) == 401, path

    ask(test, server=Server(host=EVERYWHERE, **tokens(tmp_path)))


def test_the_listener_for_probes_tells_its_metrics_to_prometheus_alone(tmp_path: Path) -> None:
    """As in the chart: the verbs on loopback, probes and metrics on all addresses, a Secret that may appear later."""
    file = tmp_path / "metrics_token_file"

    async def test(front: Front) -> None:
        assert await status_of(front, "GET", "/readyz", {}) == 200
        assert await status_of(front, "GET", "/metrics", {}) == 401
        assert await status_of(front, "GET", "/metrics", bearer("")) == 401
        file.write_text(FOR_METRICS)
        assert await status_of(front, "GET", "/metrics", bearer(FOR_METRICS)) == 200
        file.write_text(FOR_METRICS + "-renewed")
        assert await status_of(front, "GET", "/metrics", bearer(FOR_METRICS)) == 401
        assert await status_of(front, "GET", "/metrics", bearer(FOR_METRICS + "-renewed")) == 200

    ask(test, only_probes=True, server=Server(metrics_host=EVERYWHERE, metrics_token_file=str(file)))


def test_on_loopback_nothing_is_asked_for_unless_a_token_is_configured(tmp_path: Path) -> None:
    async def test(front: Front) -> None:
        assert await status_of(front, "GET", "/state", {}) == 200
        assert await status_of(front, "GET", "/metrics", {}) == 200

    async def with_token(front: Front) -> None:
        assert await status_of(front, "GET", "/state", {}) == 401

    ask(test)
    ask(test, server=Server(metrics_token_file=tokens(tmp_path)["metrics_token_file"]))
    ask(with_token, server=Server(token_file=tokens(tmp_path)["token_file"]))


def test_a_token_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(front: Front) -> None:
        assert await status_of(front, "GET", "/state", {}) == 401
        assert await status_of(front, "GET", "/state", bearer(SECRET)) == 200

    monkeypatch.setenv("WATTPACK_TOKEN", SECRET)
    ask(test, server=Server(host=EVERYWHERE))


# ---- what is refused before anything listens


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.0.2.1", "example.org", "127.0.0.1.evil.example"])
def test_an_address_that_others_reach_is_refused_without_authentication(host: str, tmp_path: Path) -> None:
    (fault,) = problems_of_server(Server(host=host))
    assert "can be reached by others, expected token_file or client_ca in [server], or WATTPACK_TOKEN" in fault
    assert problems_of_server(Server(host=host, **tokens(tmp_path))) == []


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.7", "::1", "localhost"])
def test_loopback_needs_none(host: str) -> None:
    assert is_loopback(host)
    assert problems_of_server(Server(host=host)) == []


def test_serve_ends_with_one_line_where_everybody_could_ask(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for words in (["--host", "0.0.0.0"], ["--host", "0.0.0.0", "--check"]):
        with pytest.raises(SystemExit, match="2"):
            main(["serve", *words])
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("wattpack: command line: server.host: '0.0.0.0' can be reached by others, expected")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"token_file": "nowhere"}, "server.token_file: nowhere: No such file or directory, expected a token"),
        ({"token_file": "short"}, "server.token_file: short: 5 letters, expected a token of at least 16 letters"),
        ({"token_file": "odd"}, "server.token_file: odd: "),
        ({"certificate": "short"}, "server: expected certificate and key, or neither"),
        ({"client_ca": "short"}, "server.client_ca: expected certificate and key too"),
        ({"certificate": "nowhere", "key": "short"}, "server: nowhere: No such file or directory, expected a PEM file"),
        ({"certificate": "short", "key": "short"}, "server: short, short: "),
    ],
)
def test_a_token_or_certificate_that_cannot_be_used_is_one_line(
    given: dict[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("short").write_text("short\n")
    Path("odd").write_bytes(b"\xff\xfe" * 20)
    (fault,) = problems_of_server(Server(**given))
    assert fault.startswith(said)
    assert "\n" not in fault


def test_files_are_looked_for_beside_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(SECRET)
    (tmp_path / "wattpack.toml").write_text('[server]\nhost = "0.0.0.0"\ntoken_file = "token"\n')
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    main(["serve", "--check", "--config", str(tmp_path / "wattpack.toml")])
    assert "good" in capsys.readouterr().out


# ---- certificates


def signed(folder: Path, name: str) -> tuple[Path, Path]:
    (folder / name).mkdir()
    return self_signed(folder / name)


def served_with_certificates(tmp_path: Path, test: Any) -> None:
    """A service that shows a certificate and takes those of one client."""
    certificate, key = signed(tmp_path, "server")
    client, client_key = signed(tmp_path, "client")
    server = Server(host=EVERYWHERE, port=0, certificate=str(certificate), key=str(key), client_ca=str(client))

    async def run() -> None:
        service = await started(InMemory(), server=server)
        runner = await listen(service, "127.0.0.1", 0, False)
        try:
            await test(f"https://127.0.0.1:{runner.addresses[0][1]}", certificate, (client, client_key))
        finally:
            await runner.cleanup()

    asyncio.run(run())


async def asked_with(address: str, authority: Path, shown: tuple[Path, Path] | None, path: str) -> int:
    context = ssl.create_default_context(cafile=str(authority))
    if shown is not None:
        context.load_cert_chain(*shown)
    async with ClientSession(connector=TCPConnector(ssl=context)) as session, session.get(address + path) as answer:
        return answer.status


def test_a_certificate_of_the_client_ca_opens_what_a_token_would(tmp_path: Path) -> None:
    """As kube-scheduler's tlsConfig shows it; a kubelet's probe shows none."""

    async def test(address: str, authority: Path, client: tuple[Path, Path]) -> None:
        assert await asked_with(address, authority, client, "/state") == 200
        assert await asked_with(address, authority, None, "/state") == 401
        assert await asked_with(address, authority, None, "/readyz") == 200
        stranger = signed(tmp_path, "stranger")
        with pytest.raises((ClientConnectionError, ssl.SSLError)):
            await asked_with(address, authority, stranger, "/state")

    served_with_certificates(tmp_path, test)


def test_a_renewed_certificate_is_shown_and_a_broken_one_is_not(tmp_path: Path) -> None:
    certificate, key = signed(tmp_path, "server")
    tls = Tls(Server(certificate=str(certificate), key=str(key)))
    first = tls()
    assert tls() is first
    certificate.write_text("half of a certificate")
    assert tls() is first
    renewed = signed(tmp_path, "renewed")
    certificate.write_bytes(renewed[0].read_bytes())
    key.write_bytes(renewed[1].read_bytes())
    assert tls() is not first


def test_a_key_with_a_password_is_refused_and_asks_nobody(tmp_path: Path) -> None:
    certificate, key = signed(tmp_path, "server")
    locked = tmp_path / "locked.key"
    command = ["openssl", "rsa", "-aes256", "-passout", "pass:secret", "-in", str(key), "-out", str(locked)]
    subprocess.run(command, check=True, capture_output=True)
    (fault,) = problems_of_server(Server(certificate=str(certificate), key=str(locked)))
    assert "expected a certificate and its key" in fault
