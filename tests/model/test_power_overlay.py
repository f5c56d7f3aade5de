"""A power file over a profile: what it says wins, the rest is inherited, and both can be told apart."""

from __future__ import annotations

import pytest

from wattpack.errors import UserError
from wattpack.model.power import MEASURED, PAPER, PROFILES, CpuPower, GpuPower
from wattpack.model.power_changes import ADDED, OVERRIDDEN, UNCHANGED, Overlay
from wattpack.model.power_file import GpuItem, PowerFile, parse_power
from wattpack.model.power_overlay import FORMS, lay_over


def over(text: str, profile: str | None = None) -> Overlay:
    return lay_over(parse_power(text.encode(), "own.toml"), "own.toml", "own", profile)


def refused(text: str, profile: str | None = None) -> str:
    with pytest.raises(UserError) as fault:
        over(text, profile)
    said = str(fault.value)
    assert "\n" not in said
    return said


def test_every_profile_has_a_form() -> None:
    assert list(FORMS) == list(PROFILES)


@pytest.mark.parametrize("profile", PROFILES)
def test_an_entry_that_says_nothing_changes_nothing(profile: str) -> None:
    for name, gpu in {**PROFILES[profile].gpus, **PROFILES[profile].further_gpus}.items():
        found = lay_over(PowerFile(gpu={name: GpuItem()}), "f", "own", profile).profile.gpu(name)
        assert found.draw_mw().tolist() == gpu.draw_mw().tolist()


def test_a_file_without_a_profile_is_laid_over_the_papers_and_named_after_itself() -> None:
    overlay = over("")
    assert (overlay.profile.name, overlay.parent.name, overlay.changes) == ("paper+own", "paper", ())
    assert overlay.profile.gpus == PAPER.gpus
    assert (overlay.profile.base_w, overlay.profile.default_cpu) == (0, PAPER.default_cpu)


def test_an_asked_profile_goes_before_the_files() -> None:
    assert over('profile = "measured"').profile.name == "measured+own"
    assert over('profile = "measured"', "linear").profile.name == "linear+own"
    assert over('name = "hall"').profile.name == "paper+hall"


NEW = "[gpu.X]\nidle_w = 10\nmax_w = 100\n"


@pytest.mark.parametrize(
    ("profile", "half_w"),
    [
        ("paper", 100),  # a step: any use costs the maximum
        ("linear", 55),  # 10 + 90 / 2
        ("concave", 10 + 90 * 0.5**0.7),
        ("measured", 55),  # no context was read: as idle
    ],
)
def test_a_new_model_with_idle_and_maximum_has_the_shape_of_the_profile(profile: str, half_w: float) -> None:
    overlay = over(NEW, profile)
    assert overlay.profile.gpu("X").draw_mw()[[0, 500, 1000]].tolist() == [10_000, round(half_w * 1000), 100_000]
    assert overlay.changes[0].status == ADDED


@pytest.mark.parametrize("profile", PROFILES)
def test_what_an_entry_says_wins_in_every_profile(profile: str) -> None:
    """40 + 60 * 0.25 at a half, by its own context and exponent."""
    gpu = over(NEW + "context_w = 40\nexponent = 2\n", profile).profile.gpu("X")
    assert gpu.draw_mw()[[0, 500, 1000]].tolist() == [10_000, 55_000, 100_000]


@pytest.mark.parametrize(
    ("more", "profile", "idle"),
    [
        ("exponent = 0.8\n", "paper", True),  # a step: the maximum from the first share on
        ("exponent = 0.8\ncontext_w = 40\n", "paper", False),
        ("exponent = 0.8\n", "linear", False),
        ("exponent = 0.8\ncontext_w = 100\n", "measured", True),
        ("", "paper", False),  # inherited: nobody expects anything of it
    ],
)
def test_an_exponent_without_effect_is_told_apart(more: str, profile: str, idle: bool) -> None:
    overlay = over(NEW + more, profile)
    assert overlay.changes[0].idle_exponent is idle
    half_mw = [over(NEW + other, profile).profile.gpu("X").draw_mw()[500] for other in (more, more.replace("0.8", "2"))]
    assert not idle or half_mw[0] == half_mw[1]
    assert idle or not more or half_mw[0] != half_mw[1]


def test_a_limit_is_multiplied_by_the_share_of_the_limit_and_a_maximum_is_not() -> None:
    text = "[gpu.X]\nidle_w = 10\nlimit_w = 100\n"
    assert [over(text, name).profile.gpu("X").max_w for name in PROFILES] == [100, 100, 100, 70]
    assert over(f"share_of_limit = 0.9\n{text}", "measured").profile.gpu("X").max_w == 90
    assert over(f"{text}share_of_limit = 0.8\n", "measured").profile.gpu("X").max_w == 80
    assert over(f"share_of_limit = 0.9\n{NEW}", "measured").profile.gpu("X").max_w == 100


def test_a_share_of_the_limit_holds_for_all_models_without_an_entry() -> None:
    """The catalog's H100 has a limit of 700 W, the paper's A100 of 400."""
    assert over("share_of_limit = 0.9", "measured").profile.gpu("H100-80GB-HBM3").max_w == 630
    paper = over("share_of_limit = 0.5", "paper").profile
    assert (paper.gpu("A100").max_w, paper.gpu("A100").context_w, paper.gpu("H200").max_w) == (200, 200, 350)


def test_a_share_below_what_a_gpu_draws_without_work_is_one_fault_of_the_share() -> None:
    """Of the readings, an H800's context (119 of 700 W) fits in 0.25, a T4's (28 of 70 W) is the largest share."""
    assert refused("share_of_limit = 0.25", "measured") == (
        "own.toml: share_of_limit: 0.25, expected at least 0.4 for all models, as T4 draws 28 of 70 W without work; "
        "or a share_of_limit in the entries of your own GPUs"
    )
    assert over("share_of_limit = 0.4", "measured").profile.gpu("T4").max_w == 28
    own = over("[gpu.H800]\nshare_of_limit = 0.25", "measured").profile
    assert own.gpu("H800").max_w == 175


def test_an_entry_with_the_watts_of_the_profile_leaves_the_model_unchanged() -> None:
    overlay = over("[gpu.T4]\nidle_w = 10\nmax_w = 70\n[gpu.A10]\n[gpu.A100]\nmax_w = 399\n[cpu.'EPYC 7763']\n")
    assert [(change.name, change.status) for change in overlay.changes] == [
        *(("T4", UNCHANGED), ("A10", UNCHANGED), ("A100", OVERRIDDEN), ("EPYC 7763", UNCHANGED))
    ]


def test_a_partial_entry_inherits_and_says_from_where() -> None:
    """An A100 capped at 300 W: the paper's step follows the maximum."""
    overlay = over("[gpu.A100]\nmax_w = 300\n")
    assert overlay.profile.gpu("A100") == GpuPower(50, 300, context_w=300)
    (change,) = overlay.changes
    assert (change.name, change.status) == ("A100", OVERRIDDEN)
    assert {key: value.origin for key, value in change.values.items()} == {
        "idle_w": "paper, A100",
        "max_w": "file",
        "context_w": "paper: the maximum",
        "exponent": "paper",
    }
    assert overlay.profile.gpu("G3") == PAPER.gpu("G3")


def test_like_inherits_from_another_model() -> None:
    gpu = over('profile = "measured"\n[gpu.H100-NVL]\nlike = "H100-80GB-HBM3"\nmax_w = 380\n').profile.gpu("H100-NVL")
    assert gpu == GpuPower(70, 380, context_w=119)
    meant = "H100-80GB-HBM3, H100-PCIe, H100-NVL"
    assert f'gpu."X".like: H100, expected a model such as {meant}' in refused('[gpu.X]\nlike = "H100"')


@pytest.mark.parametrize(
    ("name", "meant"),
    [("H100", "H100-80GB-HBM3, H100-PCIe, H100-NVL"), ("h100_sxm", "H100-80GB-HBM3"), ("t4", "T4")],
)
def test_an_entry_under_another_name_of_a_model_is_told_the_catalogs_name(name: str, meant: str) -> None:
    assert refused(f"[gpu.{name}]\nidle_w = 9") == (
        f'own.toml: gpu."{name}": no max_w, expected it here: the catalog does not have it, '
        f"or the name of a model that it knows: {meant}"
    )


def test_a_model_of_which_the_catalog_has_only_the_limit_needs_only_its_idle_power() -> None:
    assert over("[gpu.GB300]\nidle_w = 150\n", "measured").profile.gpu("GB300").max_w == pytest.approx(980)
    assert refused("[gpu.GB300]") == (
        'own.toml: gpu."GB300": no idle_w, expected it here: the catalog does not have it'
    )


def test_a_measured_curve_has_straight_lines_between_its_points() -> None:
    """Nothing on it: 20. Context 30; at a quarter 30 + (50 - 30) / 2 = 40; at 0.75 (50 + 80) / 2 = 65."""
    gpu = over("[gpu.X]\nidle_w = 20\npoints = [[0, 30], [0.5, 50], [1, 80]]\n").profile.gpu("X")
    assert gpu.draw_mw()[[0, 250, 500, 750, 1000]].tolist() == [20_000, 40_000, 50_000, 65_000, 80_000]
    assert (gpu.context_w, gpu.max_w) == (30, 80)


def test_a_curve_that_starts_above_share_0_begins_at_the_context() -> None:
    """A T4's context was read at 28 W."""
    measured = over("[gpu.T4]\npoints = [[0.5, 40], [1, 60]]\n", "measured").profile.gpu("T4")
    assert measured.points == ((0, 28), (0.5, 40), (1, 60))
    own = over("[gpu.T4]\ncontext_w = 15\npoints = [[0.5, 40], [1, 60]]\n", "paper").profile.gpu("T4")
    assert own.points == ((0, 15), (0.5, 40), (1, 60))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gpu.X]\nidle_w = 200\nmax_w = 100", 'gpu."X".idle_w: 200, expected at most context_w, 100 (paper: the max'),
        ("[gpu.X]\nidle_w = 1\ncontext_w = 9\nmax_w = 8", 'gpu."X".context_w: 9, expected at most max_w, 8'),
        ("[gpu.X]\nidle_w = 40\npoints = [[0, 30], [1, 80]]", 'gpu."X".idle_w: 40, expected at most context_w, 30'),
        ("[gpu.X]\nmax_w = 8", 'gpu."X": no idle_w, expected'),
        ("[gpu.X]", 'gpu."X": no idle_w and no max_w, expected'),
        ("[cpu.X]\ncores = 8", 'cpu."X": no idle_w and no max_w, expected'),
        ("[cpu.X]\ncores = 8\nidle_w = 9\nmax_w = 8", 'cpu."X".idle_w: 9, expected at most max_w 8'),
        ('[cpu.X]\nlike = "Y"', 'cpu."X".like: Y, expected one of'),
        ('[node]\ndefault_cpu = "Y"', "node.default_cpu: Y, expected a CPU with known watts"),
    ],
)
def test_watts_that_cannot_be_are_refused(text: str, said: str) -> None:
    assert said in refused(text)


def test_an_inherited_value_that_does_not_fit_is_named_with_its_origin() -> None:
    """The catalog's A10 has a context of 42 W."""
    assert refused("[gpu.A10]\nidle_w = 50", "measured") == (
        'own.toml: gpu."A10".idle_w: 50, expected at most context_w, 42 (measured, A10)'
    )


def test_cpus_are_added_and_inherit() -> None:
    """The catalog knows the EPYC 9654's cores and maximum."""
    profile = over('[cpu."EPYC 9654"]\nidle_w = 90\n[cpu.Own]\ncores = 56\nidle_w = 30\nmax_w = 350\n').profile
    assert profile.cpu("EPYC 9654") == CpuPower(96, 90, 360)
    assert profile.cpu("Own") == CpuPower(56, 30, 350)
    assert over('[node]\ndefault_cpu = "EPYC 7763"').profile.cpu("") == MEASURED.cpu("EPYC 7763")


def test_base_power_is_that_of_the_node_and_a_share_of_the_limits_of_its_gpus() -> None:
    text = (
        '[node]\nbase_w = 80\nbase_share_of_limits = 0.15\n[gpu.X]\nlike = "T4"\nmax_w = 60\n[gpu.A10]\nlimit_w = 200\n'
    )
    profile = over(text, "measured").profile
    assert profile.base_w == 80
    assert profile.gpu_base_w["H100-80GB-HBM3"] == pytest.approx(105)
    assert profile.gpu_base_w["A10"] == pytest.approx(30)
    assert profile.gpu_base_w["X"] == pytest.approx(9)  # the limit of another model says nothing of this one
