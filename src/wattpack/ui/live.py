"""A running `wattpack serve` as the page shows it: read-only, asked by this server, never by the page."""

from __future__ import annotations

from urllib.parse import urlsplit

from wattpack.errors import UserError


def check_live(address: str) -> None:
    """Refuse what cannot be the address of a service."""
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good or any(letter.isspace() for letter in address):
        raise UserError(f"--live {address!r}, expected an address like http://127.0.0.1:8888")
