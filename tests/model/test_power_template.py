"""The template of a power file changes nothing until it is edited, and asks for what is not known."""

from __future__ import annotations

import re

import pytest

from wattpack.errors import UserError
from wattpack.model.power import MEASURED, PROFILES
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
    assert "# limit_w = 1400   # the catalog" in text
    with pytest.raises(UserError, match=r'gpu."X100": no idle_w and no max_w.*cpu."Own CPU": no cores'):
        lay_over(parse_power(text.encode(), "t"), "t", "t")
