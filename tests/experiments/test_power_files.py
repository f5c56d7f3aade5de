"""Power files in Python, in experiment files and in results: other watts are other scenarios, and only those."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import wattpack as wp
from builders import make_datacenter, make_workload
from experiments.small import NODES, TASKS, small_inputs, write_spec
from wattpack.experiments.bound.curves import baseline_in, with_bound
from wattpack.experiments.digests import datacenter_digest, profile_digest
from wattpack.experiments.options import Offered
from wattpack.experiments.scenario import Inputs, new_scenario
from wattpack.experiments.spec import load_experiment
from wattpack.experiments.spec.axes import resolve
from wattpack.model.nodes import Datacenter
from wattpack.model.power import PROFILES, CpuPower

OWN = """
profile = "measured"
[node]
base_w = 100
[gpu.Own]
idle_w = 20
context_w = 40
max_w = 200
"""
OWN_NODES = "sn,cpu_milli,memory_mib,gpu,model,base_w\na,96000,393216,2,G2,\nb,96000,393216,8,Own,33.5\n"


def write_power(folder: Path, text: str = OWN, name: str = "own.toml") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def write_own(folder: Path, spec: str) -> Path:
    file = write_spec(folder, spec)
    (folder / "nodes.csv").write_text(OWN_NODES)
    write_power(folder)
    return file


def test_the_ids_of_runs_without_a_power_file_are_those_of_earlier_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Computed before there were power files."""
    monkeypatch.setattr("wattpack.experiments.scenario.code_digest", lambda kind: "0123456789abcdef")
    inputs = small_inputs()
    plain = new_scenario(inputs, "small", "tasks", "fgd", 42)
    measured = new_scenario(inputs, "small", "tasks", "fgd", 42, "measured")
    steady = new_scenario(inputs, "small", "tasks", "fgd", 42, steady=Offered(0.5))
    own = wp.PowerProfile("own", PROFILES["paper"].gpus, {"c": CpuPower(8, 9, 65)}, "c", "made up")
    given = Inputs(inputs.datacenters, inputs.traces, {"own": own})
    mine = new_scenario(given, "small", "tasks", "fgd", 42, "own")
    ids = (plain.id, measured.id, steady.id, mine.id)
    assert ids == ("cc94bb0f66c70b63", "04bc348c464e4048", "d4ab3393128893ec", "fbd11a2d4d287547")


def test_the_id_has_the_digest_of_what_the_power_file_says(tmp_path: Path) -> None:
    ids = []
    for number, text in enumerate((OWN, OWN.replace("200", "201"), OWN.replace("100", "101"), OWN + "# a remark\n")):
        folder = tmp_path / str(number)
        folder.mkdir()
        profile = wp.load_power(write_power(folder, text))
        inputs = Inputs(small_inputs().datacenters, small_inputs().traces, {profile.name: profile})
        scenario = new_scenario(inputs, "small", "tasks", "fgd", 42, profile.name)
        assert scenario.profile_digest == profile_digest(profile.name, profile) != ""
        ids.append(scenario.id)
    assert len(set(ids)) == 3
    assert ids[0] == ids[3]  # a comment and a folder decide nothing


def test_a_curve_is_part_of_the_digest(tmp_path: Path) -> None:
    texts = [f"[gpu.T4]\nidle_w = 10\npoints = [[0, 20], [0.5, {watts}], [1, 70]]\n" for watts in (40, 50)]
    profiles = [wp.load_power(write_power(tmp_path, text)) for text in texts]
    assert len({profile_digest("own", profile) for profile in profiles}) == 2


def test_a_nodes_own_base_power_is_part_of_the_datacenters_digest() -> None:
    plain = make_datacenter(NODES)
    columns = (plain.names, plain.cpu_milli, plain.memory_mib, plain.gpus, ["G2", "T4", "G2", ""])
    without, with_base = Datacenter.of(*columns), Datacenter.of(*columns, base_w=[None, 5, None, None])
    assert datacenter_digest(without) == datacenter_digest(plain)
    assert datacenter_digest(with_base) != datacenter_digest(plain)


def test_an_experiment_file_lays_its_power_file_over_each_profile_of_the_axis(tmp_path: Path) -> None:
    text = 'datacenter = "nodes.csv"\ntrace = "tasks.csv"\npolicy = "fgd"\nseeds = 1\npower = "own.toml"\n'
    inputs, scenarios = resolve(load_experiment(write_own(tmp_path, text)))
    assert [scenario.profile for scenario in scenarios] == ["measured+own"]
    inputs, scenarios = resolve(load_experiment(write_own(tmp_path, text + 'profile = ["paper", "linear"]\n')))
    assert [scenario.profile for scenario in scenarios] == ["paper+own", "linear+own"]
    assert all(profile.base_w == 100 for profile in inputs.profiles.values())
    assert inputs.datacenters["nodes.csv"].base_mw(inputs.profiles["paper+own"]).tolist() == [100_000, 33_500]


def test_two_power_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    write_power(tmp_path / "other", OWN.replace("200", "300"))
    head = 'datacenter = "nodes.csv"\ntrace = "tasks.csv"\npolicy = "fgd"\nseeds = 1\n'
    text = head + '[[experiment]]\npower = "own.toml"\n[[experiment]]\npower = "other/own.toml"\n'
    _, scenarios = resolve(load_experiment(write_own(tmp_path, text)))
    assert [scenario.profile for scenario in scenarios] == ["measured+own", "measured+own-2"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('power = "none.toml"', "none.toml: cannot be read"),
        ("power = 3", "power: 3, expected the path of a power file"),
        ('power = "own.toml"\nprofile = "cubic"', "profile: unknown profile 'cubic'"),
    ],
)
def test_a_power_file_that_cannot_be_used_is_a_problem_of_the_experiment(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(wp.UserError) as fault:
        load_experiment(write_own(tmp_path, f'policy = "fgd"\ntrace = "tasks.csv"\n{line}\n'))
    assert said in str(fault.value)
    assert "\n" not in str(fault.value)


def test_an_experiment_without_the_power_file_says_what_to_add(tmp_path: Path) -> None:
    with pytest.raises(
        wp.UserError, match=r'line 3, column model: unknown GPU model \'Own\' .*\[gpu."Own"\] idle_w'
    ) as fault:
        load_experiment(write_own(tmp_path, 'policy = "fgd"\ndatacenter = "nodes.csv"\ntrace = "tasks.csv"\n'))
    assert "in Python and experiment files power = 'FILE.toml'" in str(fault.value)
    with pytest.raises(wp.UserError, match=r"in Python and experiment files power = 'FILE\.toml'"):
        wp.load_datacenter(tmp_path / "nodes.csv")


def test_simulate_takes_a_power_file_for_models_of_the_users_own(tmp_path: Path) -> None:
    write_own(tmp_path, "")
    run = wp.simulate(tmp_path / "nodes.csv", tmp_path / "tasks.csv", "fgd", power=tmp_path / "own.toml")
    assert run.base_power_w[-1] == 133.5
    plain = wp.load_datacenter(tmp_path / "nodes.csv", power=tmp_path / "own.toml")
    again = wp.simulate(plain, tmp_path / "tasks.csv", "fgd", profile=wp.load_power(tmp_path / "own.toml"))
    np.testing.assert_array_equal(run.series, again.series)


def test_a_profile_given_as_a_power_file_is_told_where_it_goes(tmp_path: Path) -> None:
    own = wp.load_power(write_power(tmp_path))
    with pytest.raises(wp.UserError) as fault:
        wp.simulate("alibaba2023", "default", "fgd", power=own)  # type: ignore[arg-type]
    assert str(fault.value) == "power: a PowerProfile, expected the path of a power file, or the object as profile"


def test_the_name_of_a_profile_is_no_power_file_and_the_message_says_where_it_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = make_datacenter(NODES), make_workload(TASKS), "fgd"
    said = "power: no file 'measured'; expected a power file, or the profile as profile = 'measured'"
    for call in (wp.load_power, lambda name: wp.simulate(*given, power=name)):
        with pytest.raises(wp.UserError) as fault:
            call("measured")
        assert str(fault.value) == said
    spec = write_own(tmp_path, 'policy = "fgd"\ntrace = "tasks.csv"\npower = "linear"\n')
    with pytest.raises(wp.UserError, match="or the profile as profile = 'linear'"):
        load_experiment(spec)
    (tmp_path / "measured").write_text(OWN)
    assert wp.load_power("measured").base_w == 100  # a file of this name is one


def test_load_datacenter_takes_the_name_of_a_profile() -> None:
    """It only asks which models are known: there is no `profile` beside."""
    for name in PROFILES:
        assert len(wp.load_datacenter("alibaba2023", power=name)) == len(wp.load_datacenter("alibaba2023"))


def test_a_profile_that_is_an_object_takes_no_power_file(tmp_path: Path) -> None:
    file = write_power(tmp_path)
    with pytest.raises(wp.UserError, match="power with a PowerProfile, 'paper'"):
        wp.simulate(make_datacenter(NODES), make_workload(TASKS), "fgd", profile=PROFILES["paper"], power=file)
    for wrong in ("", 3):
        with pytest.raises(wp.UserError, match="expected the path of a power file"):
            wp.load_power(wrong)  # type: ignore[arg-type]
    with pytest.raises(wp.UserError, match="profile: 'cubic', expected one of paper"):
        wp.load_power(file, "cubic")


def test_base_power_is_in_the_summary_after_the_fixed_columns_and_adds_up(tmp_path: Path) -> None:
    write_own(tmp_path, "")
    given = (tmp_path / "nodes.csv", tmp_path / "tasks.csv", ["pwr"], 2)
    compared = wp.compare(*given, out=tmp_path / "out", power=tmp_path / "own.toml")
    with (tmp_path / "out" / "summary.csv").open(newline="") as file:
        header, *rows = list(csv.reader(file))
    assert ",".join(header[:10]) == "trace,policy,load,eopc_w,cpu_w,gpu_w,saving,grar,fragmentation_milli,seeds"
    assert header[-2:] == ["base_w", "against"]
    filled = [dict(zip(header, row, strict=True)) for row in rows if row[3]]
    assert {row["profile"] for row in filled} == {"measured+own"}
    assert {row["base_w"] for row in filled} == {"133.5"}
    for row in filled:
        parts = sum(float(row[name]) for name in ("cpu_w", "gpu_w", "base_w"))
        assert float(row["eopc_w"]) == pytest.approx(parts, abs=0.2)
    frame = compared.to_pandas()
    assert frame["base_w"].dropna().unique().tolist() == [133.5]
    assert "power profile measured+own" in repr(compared)


def test_the_bound_beside_policies_has_the_base_power_too(tmp_path: Path) -> None:
    write_own(tmp_path, "")
    compared = wp.compare(tmp_path / "nodes.csv", tmp_path / "tasks.csv", ["pwr"], 1, power=tmp_path / "own.toml")
    (datacenter,), (profile,) = compared.inputs.datacenters.values(), compared.inputs.profiles.values()
    found = with_bound(compared.results, datacenter, compared.inputs.traces, loads=[0.0, 0.5, 1.0], profile=profile)
    bound = next(curves for (_, policy), curves in found.items() if policy == "bound")
    there = np.isfinite(bound.mean("eopc_w"))
    assert there.any()
    parts = bound.mean("cpu_w") + bound.mean("gpu_w") + bound.base_w()
    np.testing.assert_allclose(bound.mean("eopc_w")[there], parts[there], rtol=1e-4)
    for curves in found.values():
        if curves is not bound:
            assert (curves.mean("least_w")[there] <= curves.mean("eopc_w")[there] * (1 + 1e-6)).all()


def test_a_baseline_of_other_watts_of_the_same_name_is_not_taken(tmp_path: Path) -> None:
    write_own(tmp_path, "")
    given = (tmp_path / "nodes.csv", tmp_path / "tasks.csv", ["fgd"], 1, tmp_path / "out")
    compared = wp.compare(*given, power=tmp_path / "own.toml")
    (datacenter,), (trace,) = compared.inputs.datacenters.values(), compared.inputs.traces.values()
    same, other = wp.load_power(tmp_path / "own.toml"), wp.load_power(write_power(tmp_path, OWN.replace("200", "250")))
    assert same.name == other.name
    assert baseline_in(tmp_path / "out", datacenter, trace, same, None).seeds == (42,)
    with pytest.raises(wp.UserError, match="power profile not found in it"):
        baseline_in(tmp_path / "out", datacenter, trace, other, None)
