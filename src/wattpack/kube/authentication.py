"""Who may ask the service: who has its token, or a certificate of its client CA. Probes are open.

kube-scheduler cannot send a token to an extender, but it can show a certificate; Prometheus and people send a token.
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from wattpack.errors import UserError

if TYPE_CHECKING:  # commands that ask a service need no server
    from aiohttp import web

    from wattpack.kube.config import Server

log = logging.getLogger("wattpack")
TOKEN = "WATTPACK_TOKEN"  # the service's token, for the service and for commands that ask it
UNAUTHORISED = 401
LEAST_LETTERS = 16
PROBES = ("/healthz", "/readyz")
METRICS = "/metrics"


def with_token() -> dict[str, str]:
    """The header of a request to a service that wants a token."""
    token = os.environ.get(TOKEN, "").strip()
    return {"Authorization": f"Bearer {token}"} if token.isascii() and token.isprintable() and token else {}


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(file: str) -> str:
    """The token in a file; raises UserError."""
    try:
        text = Path(file).read_text(encoding="ascii").strip()
    except (OSError, ValueError) as fault:
        raise UserError(f"{file}: {getattr(fault, 'strerror', None) or fault}, expected a token") from None
    return checked_token(text, file)


def checked_token(text: str, where: str) -> str:
    if len(text) < LEAST_LETTERS or not text.isascii() or not text.isprintable() or " " in text:
        expected = f"expected a token of at least {LEAST_LETTERS} letters without spaces"
        raise UserError(f"{where}: {len(text)} letters, {expected}")
    return text


def problems_of_server(server: Server) -> list[str]:
    """What keeps the service from knowing who may ask it, one line each."""
    found = []
    given = os.environ.get(TOKEN, "")
    if not is_loopback(server.host) and not (server.token_file or server.client_ca or given):
        wanted = f"token_file or client_ca in [server], or {TOKEN} in the environment"
        found.append(f"server.host: {server.host!r} can be reached by others, expected {wanted}")
    if bool(server.certificate) != bool(server.key):
        found.append("server: expected certificate and key, or neither")
    elif server.client_ca and not server.certificate:
        found.append("server.client_ca: expected certificate and key too")
    elif server.certificate:
        try:
            new_context(server)
        except UserError as fault:
            found.append(f"server: {fault}")
    try:
        if server.token_file:
            read_token(server.token_file)
        elif given:
            checked_token(given.strip(), TOKEN)
    except UserError as fault:
        found.append(f"server.token_file: {fault}" if server.token_file else str(fault))
    return found


class Door:
    """Whether a request on one listener may be answered. Tokens are read again each time: their files may change."""

    def __init__(self, server: Server, host: str) -> None:
        self.server = server
        self.given = os.environ.get(TOKEN, "").strip()
        self.open = is_loopback(host) and not (server.token_file or server.client_ca or self.given)

        if not self.open and not self.tokens(METRICS) and not server.client_ca:
            log.warning("/metrics on %s is answered to nobody yet: no token (metrics_token_file in [server])", host)

    def refusal(self, request: web.Request) -> str:
        """Why not; empty: it may."""
        if self.open or request.path in PROBES or self.has_certificate(request):
            return ""
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ").strip()
        allowed = self.tokens(request.path)
        if any(hmac.compare_digest(sent.encode("utf-8", "surrogateescape"), token.encode()) for token in allowed):
            return ""
        if not allowed and not self.server.client_ca:
            return "no token is known here, expected token_file or metrics_token_file in [server]"
        return "no token or a wrong one, expected the header Authorization: Bearer and the token"

    def tokens(self, path: str) -> list[str]:
        """Those that open the path. A file that cannot be read opens nothing."""
        files = [self.server.token_file, self.server.metrics_token_file if path == METRICS else ""]
        found = [self.given] if self.given and not self.server.token_file else []
        for file in filter(None, files):
            try:
                found.append(read_token(file))
            except UserError as fault:
                log.debug("%s", fault)
        return found

    def has_certificate(self, request: web.Request) -> bool:
        """Whether the connection showed a certificate of the client CA: others fail in the handshake."""
        return bool(self.server.client_ca and request.get_extra_info("peercert"))


# ---- TLS


def new_context(server: Server) -> ssl.SSLContext:
    """The certificate that is shown; certificates of clients are asked for, and only those of the client CA taken."""
    files = [server.certificate, server.key, *filter(None, [server.client_ca])]
    for file in files:
        try:
            Path(file).open("rb").close()
        except (OSError, ValueError) as fault:
            raise UserError(f"{file}: {getattr(fault, 'strerror', None) or fault}, expected a PEM file") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(server.certificate, server.key, password=lambda: "")
    except (ssl.SSLError, ValueError) as fault:
        raise UserError(
            f"{server.certificate}, {server.key}: {words_of(fault)}, expected a certificate and its key"
        ) from None
    if server.client_ca:
        try:
            context.load_verify_locations(server.client_ca)
        except (ssl.SSLError, ValueError) as fault:
            raise UserError(f"{server.client_ca}: {words_of(fault)}, expected certificates") from None
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def words_of(fault: Exception) -> str:
    return str(getattr(fault, "reason", None) or fault).replace("_", " ").lower()


class Tls:
    """The context for a new connection. Certificates are read again when their files change, as they are renewed."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.seen = self.marks()
        self.context = new_context(server)

    def __call__(self) -> ssl.SSLContext:
        now = self.marks()
        if now != self.seen:
            self.seen = now
            try:
                self.context = new_context(self.server)
            except UserError as fault:
                log.error("certificates rejected, the old ones stay in use: %s", fault)
        return self.context

    def marks(self) -> list[tuple[int, int, int] | None]:
        return [mark_of(file) for file in (self.server.certificate, self.server.key, self.server.client_ca)]


def mark_of(file: str) -> tuple[int, int, int] | None:
    """What changes when a file is replaced."""
    try:
        found = Path(file).stat()
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def tls_of(server: Server) -> Tls | None:
    return Tls(server) if server.certificate else None
