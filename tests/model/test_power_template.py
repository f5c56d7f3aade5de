"""The template of a power file changes nothing until it is edited, and asks for what is not known."""

from __future__ import annotations

import re

import pytest

from wattpack.errors import UserError
from wattpack.model.power import MEASURED, PROFILES, CpuPower
from wattpack.model.power_file import parse_power
from wattpack.model.power_overlay import lay_over
from wattpack.model.power_template import power_template

KNOWN = ("A100", "H100-80GB-HBM3", "P100")


@pytest.mark.parametrize("profile", PROFILES)
def test_a_template_of_known_models_changes_no_watts_as_it_is_and_with_every_line_set(profile: str) -> None:
    text = power_template(KNOWN, ["EPYC 7763"], PROFILES[profile])
    entries = text[text.index("\n[gpu") :]
    for written in (text, text.replace(entries, re.sub(r"^# (\w+ = )", r"\1", entries, flags=re.MULTILINE))):
        made = lay_over(parse_power(written.encode(), "t"), "t", "t").profile
        assert (made.name, made.base_w) == (f"{profile}+t", 0)
        for name in KNOWN:
            assert made.gpu(name).draw_mw().tolist() == PROFILES[profile].gpu(name).draw_mw().tolist()


def test_a_model_that_nobody_knows_is_asked_for() -> None:
    text = power_template(["X100", "GB300"], ["Own CPU"], MEASURED)
    assert "# X100: not known. Fill in idle_w and max_w" in text
    assert "# GB300: only the limit is known. Fill in idle_w and" in text
    assert "# limit_w = 1400   # the catalog" in text
    with pytest.raises(UserError, match=r'gpu."X100": no idle_w and no max_w.*cpu."Own CPU": no cores'):
        lay_over(parse_power(text.encode(), "t"), "t", "t")


def test_a_cpu_of_which_the_catalog_has_cores_and_maximum_needs_only_its_idle_watts() -> None:
    text = power_template([], ["EPYC 9654"], MEASURED)
    assert "# EPYC 9654: idle_w is not known. Fill it in" in text
    assert "# cores = 96\n# max_w = 360\n" in text
    made = lay_over(parse_power(text.replace("# idle_w =", "idle_w = 90").encode(), "t"), "t", "t").profile
    assert made.cpu("EPYC 9654") == CpuPower(96, 90, 360)


def test_a_name_in_any_script_is_a_key_that_toml_reads() -> None:
    name = 'Karte \N{SNOWFLAKE}\N{DESKTOP COMPUTER} "x"'
    assert list(parse_power(power_template([name], [name], MEASURED).encode(), "t").gpu) == [name]
