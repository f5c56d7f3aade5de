"""Meaningless names in place of those of a cluster, for files that leave it."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable


def hidden_names() -> Callable[[str, str], str]:
    """A function that replaces every (kind, name) by a meaningless name; the next import uses other names."""
    salt = secrets.token_bytes(16)
    given: dict[tuple[str, str], str] = {}
    taken: set[str] = set()

    def hide(kind: str, name: str) -> str:
        known = given.get((kind, name))
        if known is None:
            digest = hashlib.blake2b(f"{kind} {name}".encode(), key=salt).hexdigest()
            known = next(cut for length in range(8, 129) if (cut := f"{kind}-{digest[:length]}") not in taken)
            given[kind, name] = known
            taken.add(known)
        return known

    return hide
