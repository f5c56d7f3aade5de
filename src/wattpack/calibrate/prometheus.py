"""Range queries to a Prometheus: read only, with limits on time and size. What is wrong is one line."""

from __future__ import annotations

import base64
import http.client
import math
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, NamedTuple

import msgspec
import numpy as np

from wattpack.errors import UserError

POINTS = 500  # of a series in one answer; Prometheus allows 11,000
MOST_BYTES = 128 << 20  # of one answer: 500 points of 8,000 GPUs
MOST_STEPS = 100_000
MOST_SAMPLES = 20_000_000  # of one query in all: 160 MB
CHUNK = 1 << 16
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Series(NamedTuple):
    labels: dict[str, str]
    values: np.ndarray  # float64, one for every step; NaN where there is none


class _Part(msgspec.Struct):
    metric: dict[str, str] = {}
    values: list[tuple[float, str]] = []


class _Data(msgspec.Struct):
    resultType: str = ""  # noqa: N815, as Prometheus calls it
    result: list[_Part] = []


class _Answer(msgspec.Struct):
    status: str
    data: _Data = msgspec.field(default_factory=_Data)
    error: str = ""


class Range(NamedTuple):
    """Times `start_s`, `start_s + step_s`, ... up to `end_s`, in seconds since 1970."""

    start_s: int
    end_s: int
    step_s: int

    @property
    def steps(self) -> int:
        return (self.end_s - self.start_s) // self.step_s + 1

    def parts(self) -> list[Range]:
        """The same times, at most POINTS in each part."""
        length = POINTS * self.step_s
        starts = range(self.start_s, self.end_s + 1, length)
        return [Range(start, min(start + length - self.step_s, self.end_s), self.step_s) for start in starts]


def duration_s(text: str, option: str) -> int:
    """`90s`, `15m`, `2h`, `7d`, `4w` in seconds."""
    number, unit = text[:-1], text[-1:]
    if not (number.isascii() and number.isdigit() and unit in UNITS and len(number) <= 9 and int(number) > 0):
        raise UserError(f"{option} {text!r}, expected a time like 90s, 15m, 2h, 7d or 4w")
    return int(number) * UNITS[unit]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the token to another server."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


class Prometheus:
    """One server. A bearer token, or name and password in the address, go into the header Authorization."""

    def __init__(self, url: str, token: str = "", timeout_s: float = 60) -> None:
        try:
            parts = urllib.parse.urlsplit(url)
            good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) and url.isascii()
        except ValueError:  # a port that is no number, half of an IPv6 address
            good = False
        if (
            not good
            or any(letter.isspace() for letter in url)
            or not url.isprintable()
            or parts.query
            or parts.fragment
        ):
            raise UserError(f"{url!r}: not an address, expected one like http://prometheus.monitoring:9090")
        host = parts.netloc.rpartition("@")[2]  # without a password: the address is in every message
        self.address = f"{parts.scheme}://{host}{parts.path}".rstrip("/")
        self.timeout_s = timeout_s
        self._headers = {"Accept": "application/json", "User-Agent": "wattpack"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        elif parts.username:
            words = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {base64.b64encode(words.encode()).decode()}"
        self._opener = urllib.request.build_opener(_NoRedirect)
        self._decoder = msgspec.json.Decoder(_Answer)

    def range(self, expression: str, times: Range) -> list[Series]:
        """All series of an expression over the times, asked for in parts."""
        found: dict[tuple[tuple[str, str], ...], Series] = {}
        for part in times.parts():
            for answer in self._ask(expression, part):
                key = tuple(sorted(answer.metric.items()))
                if key not in found:
                    if (len(found) + 1) * times.steps > MOST_SAMPLES:
                        raise UserError(
                            f"{self.address}: more than {len(found):,} series of {times.steps:,} steps, expected at "
                            f"most {MOST_SAMPLES:,} samples: a longer --step or a shorter --last"
                        )
                    found[key] = Series(answer.metric, np.full(times.steps, np.nan))
                _fill(found[key].values, answer.values, times)
        return list(found.values())

    def _ask(self, expression: str, part: Range) -> list[_Part]:
        asked = {"query": expression, "start": part.start_s, "end": part.end_s, "step": part.step_s}
        url = f"{self.address}/api/v1/query_range?{urllib.parse.urlencode(asked)}"
        try:
            answer = self._decoder.decode(self._get(url))
        except (msgspec.DecodeError, RecursionError):
            raise UserError(f"{self.address}: not the answer of a Prometheus, expected one at this address") from None
        if answer.status != "success" or answer.data.resultType != "matrix":
            said = answer.error or f"{answer.status} with {answer.data.resultType or 'no data'}"
            raise UserError(f"{self.address}: {said[:300]}, expected an answer to {expression}")
        return answer.data.result

    def _get(self, url: str) -> bytes:
        until = time.monotonic() + self.timeout_s
        request = urllib.request.Request(url, headers=self._headers)
        try:
            with self._opener.open(request, timeout=self.timeout_s) as answer:
                return self._body(answer, until)
        except urllib.error.HTTPError as fault:
            with fault:
                raise UserError(f"{self.address}: {self._refusal(fault)}") from None
        except (urllib.error.URLError, OSError, http.client.HTTPException, ValueError) as fault:
            reason = getattr(fault, "reason", None) or fault
            text = str(reason) or type(reason).__name__
            raise UserError(f"{self.address}: {text}, expected a Prometheus that answers") from None

    def _body(self, answer: Any, until: float) -> bytes:
        pieces, size = [], 0
        while piece := answer.read(CHUNK):
            size += len(piece)
            if size > MOST_BYTES:
                raise UserError(
                    f"{self.address}: an answer of more than {MOST_BYTES >> 20} MiB, expected fewer series (--share)"
                )
            if time.monotonic() > until:
                raise UserError(f"{self.address}: no whole answer within {self.timeout_s:g} s (--timeout-seconds)")
            pieces.append(piece)
        return b"".join(pieces)

    def _refusal(self, fault: urllib.error.HTTPError) -> str:
        """Status, and what Prometheus says about it."""
        if 300 <= fault.code < 400:
            return f"answered {fault.code}, a redirect to {fault.headers.get('Location', '?')}: give that address"
        if fault.code in (401, 403):
            return f"answered {fault.code} {fault.reason}, expected the right to read (--token-file)"
        try:
            said = msgspec.json.decode(fault.read(CHUNK), type=_Answer).error
        except (msgspec.DecodeError, OSError, http.client.HTTPException):
            said = ""
        return f"answered {fault.code} {said[:300] or fault.reason}, expected 200"


def _fill(row: np.ndarray, values: list[tuple[float, str]], times: Range) -> None:
    for at_s, value in values:
        step = (at_s - times.start_s) / times.step_s
        if -0.5 <= step < times.steps - 0.5:
            row[round(step)] = number(value)


def number(text: str) -> float:
    """A value of a series; NaN where it is none or absurd (DCGM tells 1e19 W of a GPU that fell off the bus)."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if abs(value) < 1e9 else math.nan
