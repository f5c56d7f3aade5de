"""Who may ask: this machine's own page. Hosts, origins and the token are checked before anything else is read."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from wattpack.errors import UserError
from wattpack.ui.answers import ENCODER, Wrong

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
COOKIE = "wattpack-token"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
CHANGING = ("POST", "DELETE", "PUT", "PATCH")
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# A report has a content policy of its own, by hash, and may ask this server nothing.
REPORT_POLICY = "sandbox allow-scripts allow-downloads; frame-ancestors 'none'"


def check_address(host: str, token: str | None) -> None:
    """Refuse an address that others can reach without a token."""
    if token is not None and len(token) < 8:
        raise UserError(f"--token of {len(token)} letters, expected at least 8")
    if host in LOOPBACK:
        return
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise UserError(f"--host {host!r}, expected an IP address like 127.0.0.1") from None
    if token is None:
        raise UserError(f"--host {host}: others can reach it, expected --token TEXT too")


def json_answer(body: Any, status: int = 200) -> web.Response:
    return web.Response(body=ENCODER.encode(body), content_type="application/json", status=status)


def wrong(text: str, status: int = 400) -> web.Response:
    return json_answer(Wrong(text), status)


def guard(host: str, token: str | None) -> Any:
    """A middleware that turns away foreign hosts, foreign origins and, where there is a token, all who lack it."""

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = _foreign(request, host) or _without_token(request, token)
        if refusal is None and token is not None and "token" in request.query and request.method == "GET":
            # The token does not stay in the address.
            refusal = web.Response(status=302, headers={"Location": request.path})
            refusal.set_cookie(COOKIE, token, httponly=True, samesite="Strict")
        answer = await handler(request) if refusal is None else refusal
        if not answer.prepared:
            for name, value in HEADERS.items():
                answer.headers.setdefault(name, value)
            answer.headers.setdefault("Content-Security-Policy", CONTENT_POLICY)
        return answer

    return checked


def _foreign(request: web.Request, host: str) -> web.Response | None:
    """A name that was pointed at this machine from outside (DNS rebinding), or a page of another origin."""
    try:
        name = urlsplit(f"//{request.host}").hostname or ""
    except ValueError:
        name = ""
    # The port may be another: that of a tunnel. Where others reach this machine they use names that it need not know,
    # and the token keeps strangers out.
    if not name or (host in LOOPBACK and name not in (host, *LOOPBACK)):
        return wrong(f"host {request.host!r}, expected this server's own address", 403)
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"{request.scheme}://{request.host}":
        return wrong(f"origin {origin!r}, expected this server's own page", 403)
    if request.method in CHANGING and request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        return wrong("asked by another site, expected this server's own page", 403)
    return None


def _without_token(request: web.Request, token: str | None) -> web.Response | None:
    if token is None:
        return None
    given = (
        request.query.get("token"),
        request.cookies.get(COOKIE),
        request.headers.get("Authorization", "").removeprefix("Bearer "),
    )
    if any(text and hmac.compare_digest(text.encode("utf-8", "surrogateescape"), token.encode()) for text in given):
        return None
    return wrong("no token or a wrong one, expected the address that `wattpack ui` printed", 401)
