"""Who may ask: this machine's own page. Hosts, origins and the token are checked before anything else is read."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Awaitable, Callable
from html import escape
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from wattpack.errors import UserError
from wattpack.ui.answers import ENCODER, Wrong

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
LEAST_LETTERS = 8  # of a token
URL_SAFE = re.compile(r"[A-Za-z0-9._~-]*")
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


def new_token() -> str:
    """For a page that was given none: every user of this machine reaches loopback."""
    return secrets.token_urlsafe(24)


def cookie_of(token: str) -> str:
    """The cookie's name: browsers share cookies between ports, and two pages on one machine have a token each."""
    return f"wattpack-{hashlib.sha256(token.encode()).hexdigest()[:12]}"


def check_address(host: str, token: str | None) -> None:
    """Refuse a token that can be guessed, and an address that others reach if no token was given."""
    if token is not None and (len(token) < LEAST_LETTERS or not URL_SAFE.fullmatch(token)):
        what = f"--token of {len(token)} letters" if URL_SAFE.fullmatch(token) else "--token"
        raise UserError(f"{what}, expected at least {LEAST_LETTERS} letters, digits or any of -._~")
    if host in LOOPBACK:
        return
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise UserError(f"--host {host!r}, expected an IP address like 127.0.0.1") from None
    if token is None:
        raise UserError(f"--host {host}: others can reach it, expected --token TEXT or WATTPACK_UI_TOKEN too")


def json_answer(body: Any, status: int = 200) -> web.Response:
    return web.Response(body=ENCODER.encode(body), content_type="application/json", status=status)


def wrong(text: str, status: int = 400) -> web.Response:
    return json_answer(Wrong(text), status)


def guard(host: str, token: str) -> Any:
    """A middleware that turns away foreign hosts, foreign origins and all who lack the token."""

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        refusal = _foreign(request, host) or _without_token(request, token)
        if refusal is None and "token" in request.query and request.method == "GET":
            refusal = _admitted(request, token)
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


def _admitted(request: web.Request, token: str) -> web.Response:
    """Keeps the token as a cookie, and goes on to the same address without it."""
    onward = "/" + request.rel_url.without_query_params("token").raw_path_qs.lstrip("/\\")
    # No redirect: on one that another program's page began, browsers send no cookie of this site.
    text = f'<link rel="icon" href="data:,"><a href="{escape(onward)}">wattpack</a>'
    answer = web.Response(headers={"Refresh": f"0; url={onward}"}, text=text)
    answer.content_type = "text/html"
    answer.set_cookie(cookie_of(token), token, httponly=True, samesite="Strict")
    return answer


def _without_token(request: web.Request, token: str) -> web.Response | None:
    given = (
        request.query.get("token", ""),
        request.cookies.get(cookie_of(token), ""),
        request.headers.get("Authorization", "").removeprefix("Bearer "),
    )
    if any(hmac.compare_digest(text.encode("utf-8", "surrogateescape"), token.encode()) for text in given):
        return None
    return wrong("no token or a wrong one, expected the address that `wattpack ui` printed", 401)
