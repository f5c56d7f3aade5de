"""Each alert of the chart fires where it should and is silent in a calm cluster, by Prometheus' own test of rules."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from deploy.files import Object, manifest

pytestmark = pytest.mark.e2e
OURS = 'namespace="wattpack",pod="wattpack-1"'
# What a calm cluster tells, a value each minute: pods are placed, one waits for room and is asked about now and then.
CALM = {
    f"wattpack_build_info{{{OURS}}}": "1x60",
    f'wattpack_cache_age_seconds{{{OURS},resource="pods"}}': "30x60",
    f"wattpack_last_request_age_seconds{{{OURS}}}": "200x60",
    f'wattpack_pending_pods{{{OURS},waits_for="room"}}': "1x60",
    f"wattpack_pending_oldest_seconds{{{OURS}}}": "0+10x60",
    f'wattpack_decisions_total{{{OURS},outcome="placed",policy="fgd"}}': "0+100x60",
    f'wattpack_decisions_total{{{OURS},outcome="error",policy="fgd"}}': "0+1x60",
    f'wattpack_binds_total{{{OURS},outcome="bound"}}': "0+100x60",
    f'wattpack_binds_total{{{OURS},outcome="failed"}}': "0+1x60",
    f'wattpack_request_seconds_bucket{{{OURS},verb="filter",le="0.005"}}': "0+100x60",
    f'wattpack_request_seconds_bucket{{{OURS},verb="filter",le="5.0"}}': "0+100x60",
    f'wattpack_request_seconds_bucket{{{OURS},verb="filter",le="+Inf"}}': "0+100x60",
    f'wattpack_closed_nodes{{{OURS},reason="pod_not_understood"}}': "0x60",
    f'wattpack_closed_nodes{{{OURS},reason="mig"}}': "4x60",
    f'wattpack_nodes{{{OURS},readable="no"}}': "0x60",
    f"wattpack_gpu_conflicts{{{OURS}}}": "0x60",
    f'wattpack_skipped_objects{{{OURS},resource="pods"}}': "0x60",
    f'wattpack_config_reloads_total{{{OURS},outcome="refused"}}': "0x60",
    f'wattpack_sleep_nodes{{{OURS},state="given up"}}': "0x60",
    f'wattpack_sleep_errors_total{{{OURS},what="switch"}}': "0x60",
}
# What is otherwise where an alert should fire; None: not told any more.
SCENES: dict[str, dict[str, str | None]] = {
    "WattpackDown": {f"wattpack_build_info{{{OURS}}}": None},
    "WattpackCacheStale": {f'wattpack_cache_age_seconds{{{OURS},resource="pods"}}': "0+60x60"},
    "WattpackNobodyAsks": {f"wattpack_last_request_age_seconds{{{OURS}}}": "0+60x60"},
    "WattpackDecisionsFail": {f'wattpack_decisions_total{{{OURS},outcome="error",policy="fgd"}}': "0+50x60"},
    "WattpackBindingsFail": {f'wattpack_binds_total{{{OURS},outcome="failed"}}': "0+50x60"},
    "WattpackSlow": {f'wattpack_request_seconds_bucket{{{OURS},verb="filter",le="0.005"}}': "0+50x60"},
    "WattpackPodWaitsLong": {f"wattpack_pending_oldest_seconds{{{OURS}}}": "3000+60x60"},
    "WattpackNodesClosed": {f'wattpack_closed_nodes{{{OURS},reason="pod_not_understood"}}': "9x60"},
    "WattpackNodesUnreadable": {f'wattpack_nodes{{{OURS},readable="no"}}': "1x60"},
    "WattpackObjectsSkipped": {f'wattpack_skipped_objects{{{OURS},resource="pods"}}': "1x60"},
    "WattpackGpuConflicts": {f"wattpack_gpu_conflicts{{{OURS}}}": "2x60"},
    "WattpackConfigurationRefused": {f'wattpack_config_reloads_total{{{OURS},outcome="refused"}}': "0x50 1x9"},
    "WattpackNodesGivenUp": {f'wattpack_sleep_nodes{{{OURS},state="given up"}}': "1x60"},
    "WattpackSleepCallsFail": {f'wattpack_sleep_errors_total{{{OURS},what="switch"}}': "0+1x60"},
}


def rules() -> Object:
    (read,) = manifest("prometheusrule.yaml")
    spec: Object = read["spec"]
    return spec


def fires(name: str, otherwise: dict[str, str | None], folder: Path) -> subprocess.CompletedProcess[str]:
    """promtool on a cluster that tells something else for an hour, and the alerts that should then fire."""
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("no promtool on this machine (Debian package prometheus)")
    told = {**CALM, **otherwise}
    series = [{"series": each, "values": values} for each, values in told.items() if values is not None]
    tests = [
        {"eval_time": "59m", "alertname": each["alert"], "exp_alerts": []}
        for each in rules()["groups"][0]["rules"]
        if each["alert"] != name
    ]
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules()))
    scene = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "alert_rule_test": tests,
                "promql_expr_test": [
                    {
                        "expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}})',
                        "eval_time": "59m",
                        "exp_samples": [{"labels": "{}", "value": 1}],
                    }
                ]
                if name
                else [],
            }
        ],
    }
    (folder / "scene.yaml").write_text(yaml.safe_dump(scene))
    command = [program, "test", "rules", "scene.yaml"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_no_alert_fires_in_a_calm_cluster(tmp_path: Path) -> None:
    done = fires("", {}, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_is_a_scene_for_each_alert() -> None:
    assert list(SCENES) == [rule["alert"] for rule in rules()["groups"][0]["rules"]]


@pytest.mark.parametrize("name", SCENES)
def test_an_alert_fires_where_it_should_and_no_other_does(name: str, tmp_path: Path) -> None:
    done = fires(name, SCENES[name], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
