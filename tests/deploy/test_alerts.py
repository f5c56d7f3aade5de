"""The alerts ask for what the service tells, and each leads to a heading of the guide."""

from __future__ import annotations

import re

import pytest

from deploy.files import ROOT, Object, manifest
from test_docs import anchors
from wattpack.kube.closed_nodes import REASONS
from wattpack.kube.gauges import PENDING
from wattpack.kube.metrics import METRICS
from wattpack.kube.sleep.states import State

GUIDE = ROOT / "docs" / "guide" / "alerts.md"
SUFFIX = {"histogram": ("_bucket", "_sum", "_count")}
# Labels that are fixed words, and all of them.
WORDS = {
    "waits_for": set(PENDING),
    "reason": {*REASONS.values(), "other"},
    "state": {state.value for state in State},
    "outcome": {"placed", "failed", "promised", "error", "bound", "taken", "refused"},
    "readable": {"yes", "no"},
    "verb": {"filter", "prioritize", "bind"},
}


def rules() -> list[Object]:
    (read,) = manifest("prometheusrule.yaml")
    (group,) = read["spec"]["groups"]
    found: list[Object] = group["rules"]
    return found


NAMES = [rule["alert"] for rule in rules()]


def test_no_alert_is_there_twice() -> None:
    assert len(NAMES) == len(set(NAMES)) > 10


@pytest.mark.parametrize("rule", rules(), ids=NAMES)
def test_an_alert_asks_for_metrics_and_labels_that_the_service_has(rule: Object) -> None:
    told = {name + suffix for name, (kind, _) in METRICS.items() for suffix in SUFFIX.get(kind, ("",))}
    asked = re.findall(r"\b(wattpack_\w+)\{([^}]*)\}", rule["expr"])
    assert asked
    assert {name for name, _ in asked} <= told
    for name, labels in asked:
        assert 'namespace="wattpack"' in labels, "another release's metrics would count"
        assert not name.endswith("_total") or re.search(rf"(rate|increase)\({name}", rule["expr"])
        for label, text in re.findall(r'(\w+)[!=]=?~?"([^"]*)"', labels):
            assert label == "namespace" or set(text.split("|")) <= WORDS[label], label


@pytest.mark.parametrize("rule", rules(), ids=NAMES)
def test_an_alert_says_what_is_wrong_and_leads_to_its_heading(rule: Object) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert rule["annotations"]["summary"].endswith(".")
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert ROOT / page == GUIDE
    assert anchor in anchors(GUIDE)
    assert anchor == rule["alert"].lower()


def test_each_heading_of_the_guide_is_an_alert() -> None:
    headings = re.findall(r"^### (\w+)$", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(headings) == sorted(NAMES)
