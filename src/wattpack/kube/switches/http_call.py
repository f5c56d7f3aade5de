"""One HTTP call of a switch: a time limit, a size limit, verified TLS, no redirects, and errors of one line."""

from __future__ import annotations

import ssl
from typing import Any, NamedTuple

import aiohttp
import msgspec
from yarl import URL

from wattpack.errors import UserError
from wattpack.kube.switches.switch import SwitchError

LARGEST_ANSWER = 1 << 20  # bytes; a ComputerSystem has some 10 KB
CONNECTIONS = 32


class Answer(NamedTuple):
    status: int
    body: bytes


def new_session(ca_file: str, verify: bool, timeout_s: float) -> aiohttp.ClientSession:
    """TLS is verified, with the system's authorities or those of `ca_file`, unless told otherwise."""
    try:
        context = ssl.create_default_context(cafile=ca_file or None)
    except OSError as fault:  # ssl.SSLError is one too
        raise UserError(f"{ca_file}: {fault.strerror or fault}, expected certificates in PEM form") from None
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, limit_per_host=CONNECTIONS, ssl=context)
    # No proxy of the environment (trust_env), no cookies: every call stands alone.
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
    )


async def call(
    session: aiohttp.ClientSession, method: str, address: str, body: Any = None, headers: dict[str, str] | None = None
) -> Answer:
    """One request. The error names host and path only: credentials are neither there nor in what libraries say."""
    url = URL(address, encoded=True)
    where = f"{method} {url.scheme}://{url.host}:{url.port}{url.path}"
    sent = {"Accept": "application/json", "User-Agent": "wattpack", **(headers or {})}
    data = None if body is None else msgspec.json.encode(body)
    if data is not None:
        sent["Content-Type"] = "application/json"
    try:
        async with session.request(method, url, data=data, headers=sent, allow_redirects=False) as answer:
            return Answer(answer.status, await _limited(answer, where))
    except TimeoutError:
        raise SwitchError(f"{where}: no answer within {session.timeout.total:g} s") from None
    except aiohttp.ClientConnectorCertificateError as fault:
        reason = getattr(fault.certificate_error, "verify_message", "") or "not trusted"
        raise SwitchError(f"{where}: its certificate is not accepted: {reason}") from None
    except (aiohttp.ClientError, OSError, ValueError) as fault:
        reason = getattr(fault, "strerror", None) or type(fault).__name__
        raise SwitchError(f"{where}: no answer: {reason}") from None


async def _limited(answer: aiohttp.ClientResponse, where: str) -> bytes:
    body = b""
    async for piece in answer.content.iter_any():
        body += piece
        if len(body) > LARGEST_ANSWER:
            raise SwitchError(f"{where}: an answer of more than {LARGEST_ANSWER} bytes")
    return body
