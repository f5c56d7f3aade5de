"""Where the deployed things are, and how to read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "chart" / "wattpack"
MANIFESTS = DEPLOY / "manifests"
DASHBOARD = CHART / "dashboards" / "wattpack.json"

RENDERED = ("wattpack.yaml", "shadow.yaml", "servicemonitor.yaml", "prometheusrule.yaml")  # by deploy/render.sh
NAMESPACE = "wattpack"

Object = dict[str, Any]


def read_objects(text: str) -> list[Object]:
    return [read for read in yaml.safe_load_all(text) if read is not None]


def manifest(name: str) -> list[Object]:
    return read_objects((MANIFESTS / name).read_text(encoding="utf-8"))


def of_kind(objects: list[Object], kind: str) -> list[Object]:
    return [read for read in objects if read["kind"] == kind]


def rights(objects: list[Object]) -> set[tuple[str, str, str, str]]:
    """(group, resource, verb, name or "") of every Role and ClusterRole."""
    return {
        (group, resource, verb, name)
        for role in of_kind(objects, "ClusterRole") + of_kind(objects, "Role")
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
