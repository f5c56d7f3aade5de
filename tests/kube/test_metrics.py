"""Metrics are told in Prometheus' text format."""

from __future__ import annotations

import re

from wattpack.kube.metrics import METRICS, WAITS, Metrics, escaped, memory_bytes


def test_a_counter_is_told_by_its_labels() -> None:
    metrics = Metrics()
    for outcome in ("bound", "bound", "failed"):
        metrics.count("wattpack_binds_total", outcome=outcome)
    text = metrics.text({})
    assert 'wattpack_binds_total{outcome="bound"} 2\n' in text
    assert 'wattpack_binds_total{outcome="failed"} 1\n' in text
    assert "# TYPE wattpack_binds_total counter\n" in text


def test_a_histogram_adds_up() -> None:
    metrics = Metrics()
    for seconds in (0.0004, 0.003, 100.0):
        metrics.observe(seconds, verb="filter")
    text = metrics.text({})
    assert 'wattpack_request_seconds_bucket{verb="filter",le="0.0005"} 1\n' in text
    assert 'wattpack_request_seconds_bucket{verb="filter",le="5.0"} 2\n' in text
    assert 'wattpack_request_seconds_bucket{verb="filter",le="+Inf"} 3\n' in text
    assert 'wattpack_request_seconds_count{verb="filter"} 3\n' in text
    assert 'wattpack_request_seconds_sum{verb="filter"} 100.0034\n' in text


def test_gauges_are_told_as_given_and_labels_are_escaped() -> None:
    text = Metrics().text({"wattpack_power_watts": [((("node", 'a"b\\c\n'),), 12.5)]})
    assert 'wattpack_power_watts{node="a\\"b\\\\c\\n"} 12.5\n' in text
    assert escaped("plain") == "plain"


def test_every_line_is_well_formed_and_names_are_as_prometheus_wants_them() -> None:
    metrics = Metrics()
    metrics.count("wattpack_decisions_total", policy="pwr:0.1+fgd:0.9", outcome="placed")
    metrics.observe(0.1, verb="bind")
    for line in metrics.text({"wattpack_leader": [((), 1.0)]}).splitlines():
        assert line.startswith("# ") or re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+', line)
    assert all(name.endswith("_total") == (kind == "counter") for name, (kind, _) in METRICS.items())


def test_each_histogram_has_buckets_of_its_own() -> None:
    metrics = Metrics()
    metrics.observe(40.0, WAITS)
    text = metrics.text({})
    assert 'wattpack_queue_wait_seconds_bucket{le="30"} 0\n' in text
    assert 'wattpack_queue_wait_seconds_bucket{le="60"} 1\n' in text
    assert "wattpack_queue_wait_seconds_count 1\n" in text
    assert "wattpack_request_seconds" not in text


def test_the_memory_of_this_process_is_told() -> None:
    assert memory_bytes() > 1 << 20
