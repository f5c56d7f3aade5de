"""A power file is read strictly: all faults at once, each with its key, its value and what was expected."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wattpack.errors import UserError
from wattpack.model import power_file
from wattpack.model.power import PROFILES
from wattpack.model.power_file import (
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_POINTS,
    PROFILE_NAMES,
    CpuItem,
    GpuItem,
    NodeItem,
    PowerFile,
    parse_power,
    to_toml,
)


def refused(text: str) -> str:
    with pytest.raises(UserError) as fault:
        parse_power(text.encode(), "own.toml")
    said = str(fault.value)
    assert said.startswith("own.toml: ")
    assert "\n" not in said
    return said


def test_an_empty_file_says_nothing() -> None:
    assert parse_power(b"", "own.toml") == PowerFile()


def test_the_profiles_that_a_file_may_name_are_the_built_in_ones() -> None:
    assert tuple(PROFILES) == PROFILE_NAMES


def test_the_example_of_the_format_is_read_whole() -> None:
    """Its points stand beside the keys that they replace, to show both: one half is left out here."""
    lines = textwrap.dedent(str(power_file.__doc__).split("\n\n", 1)[1].rsplit("\n\n", 1)[0]).splitlines()
    without = ("context_w", "max_w = 380", "share_of_limit = 0.8", "exponent")
    file = parse_power("\n".join(line for line in lines if not line.startswith(without)).encode(), "own.toml")
    assert (file.profile, file.name, file.share_of_limit) == ("measured", "hall-3", 0.7)
    assert file.node == NodeItem(80, 0.15, "EPYC 7763")
    assert file.gpu["H100-NVL"].points == ((0, 85), (0.5, 240), (1, 380))
    assert file.cpu["Xeon 8480+"] == CpuItem("Xeon Platinum 8369B", 56, 30, 350, "...")
    other = parse_power("\n".join(line for line in lines if not line.startswith("points")).encode(), "own.toml")
    assert other.gpu["H100-NVL"].max_w == 380


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[gpu."X"]\nidle_w = nan', 'gpu."X".idle_w: nan, expected watts from 0 to 1,000,000'),
        ('[gpu."X"]\nidle_w = -1', 'gpu."X".idle_w: -1, expected watts from 0'),
        ('[gpu."X"]\nidle_w = inf', 'gpu."X".idle_w: inf, expected watts'),
        ('[gpu."X"]\nidle_w = true', 'gpu."X".idle_w: True, expected watts'),
        ('[gpu."X"]\nmax_w = "much"', 'gpu."X".max_w: much, expected watts above 0'),
        ('[gpu."X"]\nidle_w = "10"', "gpu.\"X\".idle_w: '10', expected watts"),
        ('[gpu."X"]\nmax_w = 1e9', 'gpu."X".max_w: 1000000000.0, expected watts above 0 and at most 1,000,000'),
        ('[gpu."X"]\nexponent = 0', 'gpu."X".exponent: 0, expected an exponent above 0'),
        ('[gpu."X"]\nshare_of_limit = 1.1', 'gpu."X".share_of_limit: 1.1, expected a share above 0 and at most 1'),
        ('[gpu."X"]\nidle = 3', 'gpu."X".idle: unknown key, expected like, idle_w, context_w'),
        ("[gpu]\nX = 3", 'gpu."X": 3, expected a table'),
        ("gpu = 3", "gpu: 3, expected a table [gpu]"),
        ('[gpu.""]\nmax_w = 3', "gpu: '', expected a text of 1 to 200 printable characters as name"),
        ("[cpu.X]\ncores = 1.5", 'cpu."X".cores: 1.5, expected physical cores from 1 to 10,000'),
        ("[cpu.X]\ncores = 0", 'cpu."X".cores: 0, expected physical cores'),
        ("[node]\nbase_w = -3", "node.base_w: -3, expected watts"),
        ("[node]\nbase_share_of_limits = 2", "node.base_share_of_limits: 2, expected a share from 0 to 1"),
        ('profile = "own"', "profile: own, expected one of paper, linear, concave, measured"),
        ("profile = 3", "profile: 3, expected one of"),
        ("phi = 1", "phi: unknown key, expected profile, name, share_of_limit, node, gpu, cpu"),
        ('[gpu."X"]\npoints = []', "expected a list of 2 to 1,001 points"),
        ('[gpu."X"]\npoints = [[0, 1], [1]]', "expected points [share from 0 to 1, watts"),
        ('[gpu."X"]\npoints = [[0, 1], [0.5, 2]]', "expected shares that rise, the last one 1"),
        ('[gpu."X"]\npoints = [[0.5, 1], [0.5, 2], [1, 3]]', "expected shares that rise"),
        ('[gpu."X"]\npoints = [[0, 5], [0.5, 4], [1, 6]]', "expected watts that do not fall"),
        ('[gpu."X"]\npoints = [[0, 5], [1, 6]]\nmax_w = 6', 'gpu."X".max_w: beside points, expected one of them'),
        ("profile = ", "expected TOML"),
        ("a = " + "9" * 5000, "expected TOML"),
        ("a = " + "[" * 5000, "expected"),
    ],
)
def test_a_bad_value_is_named_with_its_key_and_what_was_expected(text: str, said: str) -> None:
    assert said in refused(text)


def test_all_faults_are_reported_at_once() -> None:
    said = refused('profile = "x"\n[gpu.A]\nidle_w = -1\n[cpu.B]\ncores = 0\n')
    assert all(key in said for key in ("profile: x", 'gpu."A".idle_w: -1', 'cpu."B".cores: 0'))


def test_a_file_that_asks_for_too_much_is_refused() -> None:
    assert f"expected at most {MAX_ENTRIES:,}" in refused("".join(f"[gpu.g{i}]\n" for i in range(MAX_ENTRIES + 1)))
    points = ", ".join(f"[{i / (MAX_POINTS + 1)}, 1]" for i in range(MAX_POINTS + 1))
    assert "expected a list of 2 to" in refused(f"[gpu.X]\npoints = [{points}]")
    assert f"expected a power file of at most {MAX_BYTES:,}" in refused("#" * (MAX_BYTES + 1))


def test_a_file_that_is_not_text_is_refused() -> None:
    with pytest.raises(UserError, match=r"own\.toml: not UTF-8 text \(byte 0\)"):
        parse_power(b"\xff\xfe", "own.toml")


WATTS = st.floats(0.001, 1e6)
TEXTS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1, max_size=20)
GPUS = st.builds(
    GpuItem,
    like=st.none() | TEXTS,
    idle_w=st.none() | WATTS,
    limit_w=st.none() | WATTS,
    points=st.none() | st.lists(WATTS, min_size=2, max_size=5).map(lambda w: tuple(
        (i / (len(w) - 1), watts) for i, watts in enumerate(sorted(w))
    )),
    source=st.none() | TEXTS,
    samples=st.none() | st.integers(0, 10**6),
)  # fmt: skip


@given(st.dictionaries(TEXTS, GPUS, max_size=3), st.none() | WATTS, st.none() | TEXTS)
def test_what_is_written_is_read_back_as_it_was(gpus: dict[str, GpuItem], base_w: float | None, name: str) -> None:
    file = PowerFile("linear", name, 0.75, NodeItem(base_w), gpus, {"c": CpuItem(None, 8, 9.5, 65.125)})
    assert parse_power(to_toml(file, {"": "a head\nof two lines", "node": "of every node"}).encode(), "x") == file
