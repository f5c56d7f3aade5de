"""What the guide and the chart's README tell to type exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from deploy.files import CHART, ROOT
from wattpack.cli import COMMANDS
from wattpack.kube.dialects import DIALECTS
from wattpack.kube.metrics import METRICS

GUIDE = ROOT / "docs" / "guide" / "kubernetes.md"
README = CHART / "README.md"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))


def is_value(name: str) -> bool:
    place = VALUES
    for part in name.removesuffix(".*").split("."):
        if not isinstance(place, dict) or part not in place:
            return False
        place = place[part]
    return True


@pytest.mark.parametrize("page", [GUIDE, README], ids=lambda page: page.name)
def test_each_value_that_is_set_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = re.findall(r"--set(?:-file)? ([\w.]+)=", text)
    names += re.findall(
        r"`((?:scheduler|rbac|serviceMonitor|dashboard|config|networkPolicy|metrics)\.[\w.]+\*?)`", text
    )
    assert names
    assert [name for name in names if not is_value(name)] == []


def test_each_value_of_the_table_exists() -> None:
    rows = re.findall(r"^\| (`[^|]+) \|", README.read_text(encoding="utf-8"), flags=re.MULTILINE)
    names = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert len(names) > 10
    assert [name for name in names if not is_value(name)] == []


def test_each_command_and_metric_of_the_guide_exists() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    assert set(re.findall(r"^wattpack (\w+)", text, flags=re.MULTILINE)) <= set(COMMANDS)
    assert set(re.findall(r"\bwattpack_\w+", text)) <= set(METRICS)
    (dialects,) = re.findall(r"`--dialect (\w+)`([^.]*)\.", text)
    assert {dialects[0], *re.findall(r"`(\w+)`", dialects[1])} == set(DIALECTS)


@pytest.mark.parametrize("page", [GUIDE, README], ids=lambda page: page.name)
def test_each_file_of_the_repository_that_is_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [page.parent / link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    named = [ROOT / name for name in re.findall(r"\bdeploy/[\w./-]*\w", text)]
    assert [path for path in links + named if not path.exists()] == []
