"""Edits of a datacenter: which nodes go, which come, where, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wattpack as wp
from wattpack.datasets.edits import edited, short_name, split_edits, with_edits
from wattpack.datasets.node_types import file_header, file_rows, types_of
from wattpack.datasets.sources import load_datacenter
from wattpack.errors import UserError
from wattpack.experiments.digests import datacenter_digest
from wattpack.model.nodes import Datacenter
from wattpack.model.pools import OPEN, Pool


def hall() -> Datacenter:
    """Two nodes of two T4, one of one T4, one of eight G2, one without GPU."""
    columns = {
        "sn": ["a", "b", "c", "d", "e"],
        "cpu_milli": [32_000, 32_000, 8_000, 96_000, 64_000],
        "memory_mib": [1024, 1024, 512, 4096, 2048],
        "gpu": [2, 2, 1, 8, 0],
        "model": ["T4", "T4", "T4", "G2", ""],
    }
    return load_datacenter(columns, name="hall")


@pytest.mark.parametrize(
    ("remove", "left"),
    [
        (["T4"], "de"),
        (["t4"], "de"),
        (["T4-2"], "cde"),
        (["1xT4-2"], "acde"),  # the last of them
        (["2xT4"], "ade"),
        (["cpu"], "abcd"),
        (["T4", "G2"], "e"),
    ],
)
def test_removed_nodes_are_those_of_the_model_or_the_last_so_many(remove: list[str], left: str) -> None:
    assert "".join(edited(hall(), [], remove).names) == left


def test_added_nodes_come_last_with_the_given_vcpu_and_memory() -> None:
    found = edited(hall(), ["2xH100-8:128c:1024g"], [])
    assert found.names[5:] == ("h100-80gb-hbm3-8-added-0001", "h100-80gb-hbm3-8-added-0002")
    assert found.cpu_milli[5:].tolist() == [128_000, 128_000]
    assert found.memory_mib[5:].tolist() == [1024 * 1024] * 2
    assert [found.models[model] for model in found.model[5:]] == ["H100-80GB-HBM3"] * 2


def test_without_figures_an_added_node_is_as_the_usual_one_of_its_kind_or_has_16_vcpu_and_128_gib_a_gpu() -> None:
    found = edited(hall(), ["T4-2", "T4-4"], [])
    assert found.cpu_milli[5:].tolist() == [32_000, 64_000]
    assert found.memory_mib[5:].tolist() == [1024, 4 * 128 * 1024]


def test_removals_come_first_and_edits_may_be_combined() -> None:
    found = edited(hall(), ["1xT4-1", "1xcpu:8c:16g", "1xT4-1"], ["T4"])
    assert found.names == ("d", "e", "t4-1-added-0001", "cpu-added-0001", "t4-1-added-0002")
    assert found.name == "hall --remove T4 --add 1xT4-1 --add 1xcpu:8c:16g --add 1xT4-1"


def test_all_nodes_may_go_where_others_come() -> None:
    found = edited(hall(), ["2xH100-8:128c:1024g", "1xT4-1:8c:16g"], ["T4", "G2", "cpu"])
    assert found.models == ("H100-80GB-HBM3", "T4")
    assert found.gpus.tolist() == [8, 8, 1]
    assert found.cpu_milli.tolist() == [128_000, 128_000, 8_000]
    assert found.pools == (OPEN,)


def test_one_edit_may_be_given_alone_and_what_is_no_text_is_one_line() -> None:
    assert len(load_datacenter("alibaba2023", add="20xH100-8", remove="T4")) == 1213 - 404 + 20
    for wrong in ([3], 3, [None]):
        with pytest.raises(UserError, match=r"^add: .*, expected texts like 'T4'"):
            load_datacenter("alibaba2023", add=wrong)  # type: ignore[arg-type]


def test_an_edited_datacenter_has_the_digest_of_a_file_with_the_same_nodes(tmp_path: Path) -> None:
    file = tmp_path / "nodes.csv"
    file.write_text(
        "sn,cpu_milli,memory_mib,gpu,model\n"
        "d,96000,4096,8,G2\ne,64000,2048,0,\nx,16000,131072,1,T4\ny,8000,1024,1,H800\n"
    )
    same = edited(hall(), ["T4-1:16c:128g", "H800-1:8c:1g"], ["T4"])
    assert datacenter_digest(same) == datacenter_digest(load_datacenter(file))
    assert datacenter_digest(same) != datacenter_digest(hall())


@pytest.mark.parametrize(
    ("add", "remove", "said"),
    [
        (["20yH100"], [], "expected COUNTxMODEL-GPUS like 20xH100-8"),
        (["2xNOSUCH-8"], [], "--add '2xNOSUCH-8': unknown GPU model 'NOSUCH'"),
        (["0xT4-1"], [], "nodes"),
        (["99999999xT4-1"], [], "expected 1 to 999,995 nodes"),
        (["9" * 5000 + "xT4-1"], [], "expected one short word"),
        (["T4-17"], [], "17 GPUs a node, expected 1 to 16"),
        (["T4-0"], [], "0 GPUs a node, expected 1 to 16"),
        (["2xcpu"], [], "expected its vCPU and GiB too, like 2xcpu:64c:256g"),
        (["T4-1:999999999999c"], [], "expected at most"),
        ([], ["H100"], "hall has no such node, expected one of cpu, G2, T4"),
        ([], ["T4-8"], "hall has no such node"),
        ([], ["9xT4"], "hall has 3 such nodes"),
        ([], ["T4", "G2", "cpu"], "has no other nodes, expected at least one that is left"),
        (["a b"], [], "expected one short word"),
        (["-5xT4-1"], [], "--add '-5xT4-1', expected COUNTxMODEL-GPUS like 20xH100-8"),
        (["1e3xT4-1"], [], "--add '1e3xT4-1', expected COUNTxMODEL-GPUS like 20xH100-8"),
        (["5xcpu-3:4c:4g"], [], "cpu with a number of GPUs, expected a form like 5xcpu:64c:256g"),
        (["3xRTX-6000-1"], [], "(perhaps RTX-6000-Ada-Generation or Quadro-RTX-6000; for another GPU put"),
        ([], ["0xT4"], "hall has 3 such nodes, expected a count from 1 to that"),
        (["T4-1"], ["T4", "G2", "cpu", "T4"], "has no such node, expected one of none: no node is left"),
    ],
)
def test_a_wrong_edit_is_one_line_that_says_what_was_expected(add: list[str], remove: list[str], said: str) -> None:
    with pytest.raises(UserError) as fault:
        edited(hall(), add, remove)
    assert said in str(fault.value)
    assert "\n" not in str(fault.value)


def test_a_short_name_of_a_model_means_the_only_one_that_begins_so() -> None:
    fleet = load_datacenter("alibaba2026", remove=["A100", "A800-8"])
    assert fleet.models == ("A10", "H20", "H800", "L20")
    with pytest.raises(UserError, match="no such node"):
        load_datacenter("alibaba2026", remove=["A"])


def test_edits_behind_a_name_are_the_same_edits() -> None:
    by_name = wp.load_datacenter("alibaba2023 --remove T4 --add 20xH100-8")
    by_option = wp.load_datacenter("alibaba2023", add=["20xH100-8"], remove=["T4"])
    assert datacenter_digest(by_name) == datacenter_digest(by_option)
    assert by_name.name == by_option.name == "alibaba2023 --remove T4 --add 20xH100-8"
    assert len(by_name) == 1213 - 404 + 20


def test_a_name_and_its_edits_can_be_taken_apart() -> None:
    text = with_edits("a/b c.csv", ["T4-1", "cpu:8c:8g"], ["G2"])
    assert split_edits(text) == ("a/b c.csv", ["T4-1", "cpu:8c:8g"], ["G2"], [])
    assert short_name(text) == "b c --remove G2 --add T4-1 --add cpu:8c:8g"
    for plain in ("nodes.csv", "my --add", "x --adds y", "x --add a b"):
        assert split_edits(plain) == (plain, [], [], [])


def test_replaced_gpus_leave_everything_else_of_their_nodes_as_it_is() -> None:
    before, found = hall(), edited(hall(), ["T4-1"], [], replaced=["2xT4=L4"])
    assert found.name == "hall --replace 2xT4=L4 --add T4-1"
    changed = [n for n in range(len(before)) if found.models[found.model[n]] != before.models[before.model[n]]]
    assert [before.models[before.model[n]] for n in changed] == ["T4", "T4"]  # the last two of three
    assert [found.models[found.model[n]] for n in changed] == ["L4", "L4"]
    for column in ("cpu_milli", "memory_mib", "gpus"):
        assert getattr(found, column)[: len(before)].tolist() == getattr(before, column).tolist()
    assert found.names[: len(before)] == before.names
    assert datacenter_digest(edited(hall(), [], [], replaced=["T4=T4"])) == datacenter_digest(hall())


def test_a_model_that_is_replaced_everywhere_is_gone_and_edits_behind_a_name_do_the_same() -> None:
    found = load_datacenter("alibaba2023 --replace T4=L4 --remove P100")
    assert "T4" not in found.models
    assert found.gpus[found.model == found.models.index("L4")].sum() == 842
    assert datacenter_digest(found) == datacenter_digest(
        load_datacenter("alibaba2023", remove=["P100"], replace=["T4=L4"])
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("T4", "expected two models like T4=L4"),
        ("=L4", "expected two models like T4=L4"),
        ("T4=", "expected two models like T4=L4"),
        ("cpu=T4", "expected two models like T4=L4"),
        ("H100=L4", "hall has no such node, expected one of"),
        ("9xT4=L4", "hall has 3 such nodes"),
        ("T4=cpu", "expected two models like T4=L4"),
        ("T4=abacus", "--replace 'T4=abacus': "),
        ("T4=L4=A10", "--replace 'T4=L4=A10': "),
    ],
)
def test_a_wrong_replacement_is_one_line_that_says_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(UserError) as fault:
        edited(hall(), [], [], replaced=[text])
    assert said in str(fault.value)
    assert "\n" not in str(fault.value)


def test_a_file_whose_name_looks_like_edits_is_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x --add T4-1").write_text("sn,cpu_milli,memory_mib,gpu,model\nn1,8000,4096,2,T4\n")
    assert load_datacenter("x --add T4-1").names == ("n1",)


def test_pools_and_base_power_stay_and_added_nodes_join_the_pool_of_those_like_them_with_the_profiles_base(
    tmp_path: Path,
) -> None:
    file = tmp_path / "nodes.csv"
    file.write_text(
        "sn,cpu_milli,memory_mib,gpu,model,pool,only,base_w\n"
        "a,8000,1024,1,T4,x,,12.5\nb,8000,1024,1,A10,y,named,\nc,8000,1024,1,T4,,none,0\nd,8000,1024,1,A10,y,named,0\n"
    )
    found = load_datacenter(file, remove=["1xT4"], add=["A10-1"])
    assert [found.pools[pool] for pool in found.pool] == [Pool("x")] + 3 * [Pool("y", "named")]
    rows = [file_header(found), *file_rows(found)]
    (tmp_path / "new.csv").write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    again = load_datacenter(tmp_path / "new.csv")
    assert found.own_base_mw is not None
    assert again.own_base_mw is not None
    assert found.own_base_mw.tolist() == again.own_base_mw.tolist() == [12_500, -1, 0, -1]
    assert [kind.nodes for kind in types_of(found)] == [1, 2, 1]
    assert (again.names, again.pools, again.pool.tolist()) == (found.names, found.pools, found.pool.tolist())
    assert datacenter_digest(again) == datacenter_digest(found)


@pytest.mark.parametrize("name", ["h100", "H100", "NVIDIA-H100-80GB-HBM3", "h100_sxm"])
def test_a_model_may_have_the_names_that_labels_have(name: str) -> None:
    assert edited(hall(), [f"{name}-8"], []).models[-1] == "H100-80GB-HBM3"


def test_removed_and_added_nodes_stand_as_in_a_file_of_their_own() -> None:
    """Ties go to the first in file order: every node of the edited datacenter has its place there."""
    found = edited(hall(), ["2xA10-1"], ["1xT4"])
    assert found.file_place is None
    turned = hall().ordered(np.arange(len(hall()))[::-1])
    assert turned.file_place is not None
    more = edited(turned, ["2xA10-1"], [])
    assert more.file_place is not None
    assert more.file_place.tolist() == [*turned.file_place.tolist(), len(hall()), len(hall()) + 1]
