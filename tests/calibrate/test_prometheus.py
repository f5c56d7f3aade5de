"""Queries to a Prometheus: what is asked, and every bad answer in one line."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrate.server import Answer, Asked, matrix, serving
from wattpack.calibrate import prometheus
from wattpack.calibrate.prometheus import Prometheus, Range, duration_s, number
from wattpack.errors import UserError

TIMES = Range(1000, 1120, 60)


def test_values_are_put_at_their_steps() -> None:
    with serving(lambda asked: matrix([({"UUID": "a"}, [(1000, "5"), (1120, "7.5")])])) as (address, asked):
        (series,) = Prometheus(address).range("up", TIMES)
    assert series.labels == {"UUID": "a"}
    assert np.array_equal(series.values, [5.0, np.nan, 7.5], equal_nan=True)
    assert {key: asked[0][key] for key in ("path", "query", "start", "end", "step")} == {
        "path": "/api/v1/query_range",
        "query": "up",
        "start": "1000",
        "end": "1120",
        "step": "60",
    }
    assert "Authorization" not in asked[0]


def test_a_long_range_is_asked_for_in_parts_that_join() -> None:
    times = Range(0, 1199 * 10, 10)

    def answer(asked: Asked) -> Answer:
        at = range(int(asked["start"]), int(asked["end"]) + 1, int(asked["step"]))
        return matrix([({"UUID": "a"}, [(second, str(second)) for second in at])])

    with serving(answer) as (address, asked):
        (series,) = Prometheus(address).range("up", times)
    assert len(asked) == 3  # 500, 500 and 200 steps
    assert series.values.tolist() == [10.0 * step for step in range(1200)]


def test_the_token_goes_to_the_server_as_a_bearer_token() -> None:
    with serving(lambda asked: matrix([])) as (address, asked):
        Prometheus(address, "secret").range("up", TIMES)
    assert asked[0]["Authorization"] == "Bearer secret"


def test_name_and_password_of_the_address_are_sent_and_never_shown() -> None:
    """base64 of "me:a b" is bWU6YSBi."""
    with serving(lambda asked: (500, b"", {})) as (address, asked):
        server = Prometheus(address.replace("http://", "http://me:a%20b@"))
        with pytest.raises(UserError, match=f"^{address}: answered 500"):
            server.range("up", TIMES)
    assert asked[0]["Authorization"] == "Basic bWU6YSBi"


def test_a_path_before_the_api_is_kept() -> None:
    with serving(lambda asked: matrix([])) as (address, asked):
        Prometheus(f"{address}/prometheus/").range("up", TIMES)
    assert asked[0]["path"] == "/prometheus/api/v1/query_range"


def test_a_token_is_not_taken_to_another_server() -> None:
    with serving(lambda asked: matrix([])) as (other, seen):
        with (
            serving(lambda asked: (302, b"", {"Location": f"{other}/x"})) as (address, _),
            pytest.raises(UserError, match=f"answered 302, a redirect to {other}/x: give that address"),
        ):
            Prometheus(address, "secret").range("up", TIMES)
        assert seen == []


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ((200, b"<html>", {}), "not the answer of a Prometheus, expected one at this address"),
        ((200, b"[1]", {}), "not the answer of a Prometheus"),
        ((200, b"\xff" * 10, {}), "not the answer of a Prometheus"),
        ((200, b"[" * 100_000, {}), "not the answer of a Prometheus"),
        ((200, b'{"status":"success","data":{"resultType":"vector","result":[]}}', {}), "success with vector"),
        ((200, b'{"status":"success","data":{"result":[{"values":[[1]]}]}}', {}), "not the answer of a Prometheus"),
        (
            (400, b'{"status":"error","error":"parse error:\\n bad"}', {}),
            "answered 400 parse error:  bad, expected",
        ),
        ((401, b"", {}), "answered 401 Unauthorized, expected the right to read"),
        ((503, b"down", {}), "answered 503 Service Unavailable, expected 200"),
        ((200, b"", {"Content-Length": "50"}), "not the answer of a Prometheus|expected a Prometheus that answers"),
    ],
)
def test_a_bad_answer_is_one_line_with_the_address(answer: Answer, line: str) -> None:
    with serving(lambda asked: answer) as (address, _), pytest.raises(UserError, match=line) as fault:
        Prometheus(address).range("up", TIMES)
    assert str(fault.value).startswith(f"{address}: ")
    assert "\n" not in str(fault.value)


def test_nobody_there_is_one_line() -> None:
    with pytest.raises(UserError, match=r"http://127.0.0.1:1: .*refused, expected a Prometheus that answers"):
        Prometheus("http://127.0.0.1:1").range("up", TIMES)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "ftp://x",
        "http://",
        "http://a b",
        "http://127.0.0.1:x",
        "http://[::1",
        "http://h\n",
        "http://ü",
        "http://h?x=1",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UserError, match="not an address, expected one like http"):
        Prometheus(url)


def test_an_answer_that_is_too_large_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MOST_BYTES", 1 << 20)
    with (
        serving(lambda asked: (200, b" " * (8 << 20), {})) as (address, _),
        pytest.raises(UserError, match="an answer of more than 1 MiB"),
    ):
        Prometheus(address).range("up", TIMES)


def test_an_answer_that_trickles_is_given_up() -> None:
    with (
        serving(lambda asked: (200, b" " * (1 << 20), {}), slow_s=0.05) as (address, _),
        pytest.raises(UserError, match=r"no whole answer within 0.3 s \(--timeout-seconds\)"),
    ):
        Prometheus(address, timeout_s=0.3).range("up", TIMES)


def test_more_samples_than_memory_should_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prometheus, "MOST_SAMPLES", 10)
    many = matrix([({"UUID": str(i)}, [(1000, "1")]) for i in range(20)])
    with serving(lambda asked: many) as (address, _), pytest.raises(UserError, match="more than 3 series of 3 steps"):
        Prometheus(address).range("up", TIMES)


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("2h", 7200), ("7d", 604_800)])
def test_times_are_read(text: str, seconds: int) -> None:
    assert duration_s(text, "--last") == seconds


@pytest.mark.parametrize("text", ["", "5", "d", "1.5h", "-1d", "0d", "1y", "9" * 20 + "d", "\u0663d"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="expected a time like 90s"):
        duration_s(text, "--last")


@pytest.mark.parametrize("text", ["NaN", "1e19", "+Inf", "x", ""])
def test_a_value_that_is_none_is_no_number(text: str) -> None:
    assert math.isnan(number(text))
