"""Files of `kubectl get -o json` in the shapes in which they come, and files that are something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kube.cluster import nodes, pods, write_cluster
from kube.made import node_json
from wattpack.errors import UserError
from wattpack.kube.import_files import read_cluster_files


def test_one_list_of_both_and_one_list_each_give_the_same(tmp_path: Path) -> None:
    both = read_cluster_files([Path(write_cluster(tmp_path))])
    bare = [{key: value for key, value in node.items() if key not in ("kind", "apiVersion")} for node in nodes()]
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "NodeList", "items": bare}))  # as the apiserver writes it
    (tmp_path / "pods.json").write_text(json.dumps({"kind": "List", "items": pods()}))
    assert read_cluster_files([tmp_path / "nodes.json", tmp_path / "pods.json"])[:2] == both[:2]
    assert (len(both[0]), len(both[1])) == (len(nodes()), len(pods()))


def test_an_object_that_is_there_twice_counts_once_as_read_last(tmp_path: Path) -> None:
    for name, cpu in (("a.json", "1"), ("b.json", "2")):
        (tmp_path / name).write_text(json.dumps(node_json("n", cpu=cpu)))
    found = read_cluster_files([tmp_path / "a.json", tmp_path / "b.json"]).nodes
    assert [node.status.allocatable["cpu"] for node in found] == ["2"]


def test_other_kinds_in_a_list_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text(json.dumps({"kind": "List", "items": [{"kind": "Service"}, node_json()]}))
    assert len(read_cluster_files([tmp_path / "c.json"])[0]) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "c.json: Input data was truncated"),
        (b"apiVersion: v1", "c.json: JSON is malformed"),
        (b"[]", "c.json: Expected `object`, got `array`"),
        (b'{"kind": "Service"}', "c.json: kind 'Service', expected what `kubectl get nodes,pods -A -o json` prints"),
        (b'{"kind": "List", "items": []}', "c.json: no nodes, expected what"),
        (b'{"kind": "List", "items": [{"kind": "Node"}, 7]}', "c.json, item 2: Expected `object`, got `int`"),
        (
            b'{"kind": "List", "items": [{"kind": "Node", "status": {"allocatable": {"cpu": []}}}]}',
            "c.json, item 1: Expected `int | float | str`, got `array`",
        ),
    ],
)
def test_a_file_that_is_something_else_is_named_with_the_place(tmp_path: Path, text: bytes, said: str) -> None:
    (tmp_path / "c.json").write_bytes(text)
    with pytest.raises(UserError) as fault:
        read_cluster_files([tmp_path / "c.json"])
    assert said in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("kind", ["PodList", "NodeList", "List"])
def test_a_list_of_which_a_part_is_missing_is_refused(tmp_path: Path, kind: str) -> None:
    """`kubectl get --raw '/api/v1/pods?limit=500'` prints the first 500 and a token for the rest."""
    write_cluster(tmp_path)
    metadata = {"continue": "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "remainingItemCount": 4500, "resourceVersion": "7"}
    page = {"kind": kind, "apiVersion": "v1", "metadata": metadata, "items": []}
    (tmp_path / "page.json").write_text(json.dumps(page))
    said = r"page\.json: a part of a list \(metadata\.continue is set\): pods would be missing, expected what `kubectl"
    with pytest.raises(UserError, match=said):
        read_cluster_files([tmp_path / "cluster.json", tmp_path / "page.json"])
    for last in ({"continue": "", "resourceVersion": "7"}, None):
        (tmp_path / "page.json").write_text(json.dumps(page | {"metadata": last}))
        assert len(read_cluster_files([tmp_path / "cluster.json", tmp_path / "page.json"]).nodes) == len(nodes())


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no\.json: cannot be read"):
        read_cluster_files([tmp_path / "no.json"])
