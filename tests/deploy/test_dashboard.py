"""The dashboard asks for what the service tells, and shows all of it."""

from __future__ import annotations

import json
import re

from deploy.files import DASHBOARD
from wattpack.kube.metrics import METRICS

BOARD = json.loads(DASHBOARD.read_text(encoding="utf-8"))
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]
SUFFIX = {"histogram": ("_bucket", "_sum", "_count")}  # of the names that Prometheus keeps for one metric


def asked() -> set[str]:
    return {name for text in EXPRESSIONS for name in re.findall(r"\b(?:wattpack|process)_\w+", text)}


def test_every_metric_of_the_dashboard_is_one_the_service_has() -> None:
    told = {name + suffix for name, (kind, _) in METRICS.items() for suffix in SUFFIX.get(kind, ("",))}
    assert asked() - told == set()


def test_every_metric_of_the_service_is_on_the_dashboard() -> None:
    shown = {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked()}
    assert set(METRICS) - shown == set()


def test_counters_are_shown_as_rates() -> None:
    for text in EXPRESSIONS:
        for name in re.findall(r"\bwattpack_\w+_total", text):
            assert re.search(rf"(rate|increase)\({name}", text), text


def test_gauges_of_the_cluster_are_not_added_up_over_replicas() -> None:
    """Both replicas tell the same watts: a plain sum would show twice the power."""
    for text in EXPRESSIONS:
        assert not re.search(r"sum(?: by \([^)]*\))? \(?wattpack_(?!.*rate)", text), text
        if "wattpack_power_watts" in text:
            assert "max by (node)" in text


def test_panels_have_numbers_of_their_own_titles_and_do_not_overlap() -> None:
    numbers = [panel["id"] for panel in BOARD["panels"]]
    assert len(numbers) == len(set(numbers))
    taken: set[tuple[int, int]] = set()
    for panel in BOARD["panels"]:
        assert panel["title"]
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
