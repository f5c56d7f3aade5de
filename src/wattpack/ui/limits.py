"""Bodies within their limits, and whatever goes wrong as one line."""

from __future__ import annotations

import asyncio
import logging

import msgspec
from aiohttp import web

from wattpack.errors import RunError, UserError
from wattpack.ui.security import Handler, wrong
from wattpack.ui.sources import MAX_UPLOAD_BYTES

log = logging.getLogger("wattpack")
MAX_BODY_BYTES = 1 << 20  # of a question; uploads have their own limit


class NotThereError(Exception):
    """Something that the address names is not there."""


async def body_of(request: web.Request, limit: int) -> bytes:
    """The body, read in parts, so that no more than the limit is ever held."""
    if request.content_length is not None and request.content_length > limit:
        raise web.HTTPRequestEntityTooLarge(limit, request.content_length)
    parts, size = [], 0
    async for part in request.content.iter_chunked(1 << 16):
        size += len(part)
        if size > limit:
            raise web.HTTPRequestEntityTooLarge(limit, size)
        parts.append(part)
    return b"".join(parts)


@web.middleware
async def one_line(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Bad input, and faults of our own, as one line."""
    try:
        return await handler(request)
    except NotThereError as fault:
        return wrong(str(fault), 404)
    except (UserError, msgspec.DecodeError) as fault:
        return wrong(str(fault))
    except RunError as fault:
        return wrong(str(fault), 500)
    except web.HTTPRequestEntityTooLarge as fault:
        return wrong(f"{request.path}: the body is too large, expected at most {_limit(request):,} bytes", fault.status)
    except web.HTTPException as fault:
        if fault.status < 400:
            raise
        answer = wrong(f"{request.method} {request.path}: {fault.reason}", fault.status)
        if "Allow" in fault.headers:
            answer.headers["Allow"] = fault.headers["Allow"]
        return answer
    except (ConnectionError, asyncio.CancelledError):
        raise
    except RecursionError:
        return wrong(f"{request.path}: nested too deeply")
    except Exception:
        log.exception("%s %s", request.method, request.path)
        return wrong(f"{request.path}: a fault of wattpack's own, see its log", 500)


def _limit(request: web.Request) -> int:
    return MAX_UPLOAD_BYTES if request.path == "/api/uploads" else MAX_BODY_BYTES
