"""`report.html` as a text: what is in it, and what no name can put into it."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from report.builders import PAPER_POLICIES, PAPER_TRACES, make_bound, make_curves, make_results
from wattpack.errors import UserError
from wattpack.experiments.curves import LOADS, Results, at
from wattpack.report.html import report, write_report
from wattpack.report.metrics import saving
from wattpack.report.payload import BASE64, json_in_script, packed, payload

MADE = {"Version": "wattpack 0.1.0", "Seeds": [0, 1, 2], "Machine": {"cores": 2, "system": "Linux"}}
CLAIM = {
    "id": "D1",
    "section": "savings",
    "statement": "above 13 %",
    "paper": "0.80",
    "measured": "0.795",
    "verdict": "holds within tolerance",
    "why": "",
}
EVIL = "</script><script>alert(1)</script><img src=x onerror='alert(\"2\")'>&{{data}}"


class Page(HTMLParser):
    """Tags, attributes and visible text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text, self.inside = [], [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag in ("script", "style"):
            self.inside.append(tag)

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.text += data


def embedded(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)[1])


def decoded(text, unit):
    """Values of a packed curve without gaps, written apart from the code that packs."""
    numbers, digits = [], ""
    for letter in text:
        place = BASE64.index(letter)
        digits = f"{place & 31:05b}{digits}"
        if place < 32:
            numbers.append(int(digits[:-1], 2) * (-1 if digits[-1] == "1" else 1))
            digits = ""
    return np.cumsum(numbers) * unit


def test_the_embedded_curves_are_the_measured_ones():
    results = make_results(pwr=0.15)
    data = embedded(report(results, MADE))
    (trace,) = data["traces"]
    pwr = next(curve for curve in trace["curves"] if data["policies"][curve["policy"]]["name"] == "pwr")
    power = decoded(pwr["mean"]["eopc"], data["units"]["eopc"])
    assert len(power) == 131  # 0, 0.01, ..., 1.30
    assert power == pytest.approx(results["default", "pwr"].mean("eopc_w")[::2], abs=data["units"]["eopc"] / 2)
    assert decoded(pwr["mean"]["saving"], data["units"]["saving"]) == pytest.approx(
        100 * saving(results, "default", "pwr")[::2], abs=0.005
    )
    by_reason = [decoded(reason, data["units"]["reasons"]) for reason in pwr["reasons"]]
    # The builder's reasons are 1, 2, ..., 6 GPUs times (1.3 - load).
    assert [values[0] for values in by_reason] == pytest.approx([1.3, 2.6, 3.9, 5.2, 6.5, 7.8], abs=0.01)


def test_loads_that_were_not_reached_are_left_out_and_gaps_are_kept():
    values = np.full(len(LOADS), np.nan)
    values[: at(0.06) + 1] = 0.5
    values[at(0.03)] = np.nan
    # +5 is 5 x 2 = 10, letter K; a difference of 0 is A.
    assert packed(values, 0.1) == "KAA~AAA"


def test_curves_are_packed_as_source_maps_are():
    # 16 -> 32: low five bits 0 with the mark that more follow (g), then 1 (B); -1 -> 3 (D).
    values = np.repeat([16.0, 15.0], 2)
    assert packed(values, 1) == "gBD"
    assert packed(values[:2] * 0 + 511, 1) == "+f"  # 1022 = 31 x 32 + 30


def test_small_datacenters_keep_their_precision():
    curves = make_curves("t", "fgd", seeds=1)
    curves.values["eopc_w"] /= 1000  # 200 to 1,400 W
    assert payload(Results({("t", "fgd"): curves}), None)["units"]["eopc"] == pytest.approx(0.1)  # W


def test_the_table_shows_savings_that_are_one_minus_the_ratio():
    page = Page(report(make_results(pwr=0.15), MADE, gpus=1000))
    assert "pwr15.0 ±0.015.0 ±0.015.0 ±0.015.0 ±0.04.4 ±0.00.800 ±0.000987.01233.7" in page.text
    # At 0.9 it serves 0.8 of 0.9: 1 - 0.85 / (0.8 / 0.9) = 0.044.
    # EOPC at 0.8: 0.85 x 1.16 MW x 1.001 = 987.0 kW, over 800 GPUs 1233.7 W.


def test_the_summary_stands_in_the_page_without_script():
    text = Page(report(make_results(**{"pwr:0.1+fgd:0.9": 0.129}), MADE)).text
    assert "On default, pwr:0.1+fgd:0.9 saves 12.9 % of FGD's watts per GPU served at load 0.5" in text


def test_many_traces_are_summed_up_in_a_table_at_a_glance():
    page = Page(report(make_results(PAPER_TRACES, pwr=0.1), MADE))
    assert "Across 7 traces, the best compromise saves 10.0 %" in page.text
    assert page.tags.count("details") == 1
    assert sum(name == "data-trace" for _, name, _ in page.attributes) == 2 * 7  # tiles and table of each


def test_claims_are_listed_with_verdict_and_reason():
    claims = [CLAIM, {**CLAIM, "id": "D2", "verdict": "differs", "why": "two seeds fail early"}]
    page = Page(report(make_results(), MADE, claims))
    assert "2 statements: 1 hold within tolerance, 1 differ." in page.text
    assert "two seeds fail early" in page.text
    assert ("span", "class", "verdict near") in page.attributes
    assert "The paper's statements" not in Page(report(make_results(), MADE)).text


def test_how_it_was_made_is_shown():
    text = Page(report(make_results(), MADE)).text
    assert "wattpack 0.1.0" in text
    assert "0, 1, 2" in text
    assert "cores 2, system Linux" in text


def test_no_name_can_put_markup_or_script_into_the_page():
    results = make_results((EVIL,), **{EVIL: 0.1})
    text = report(results, {EVIL: EVIL, "list": [EVIL]}, [dict.fromkeys([*CLAIM], EVIL)])
    plain = Page(report(make_results(("t",), p=0.1), {"k": "v", "list": ["x"]}, [dict.fromkeys([*CLAIM], "x")]))
    page = Page(text)
    assert page.tags == plain.tags  # not one element more
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert EVIL in page.text  # it is there, as text
    assert embedded(text)["traces"][0]["name"] == EVIL
    assert embedded(text)["policies"][1]["name"] == EVIL


@pytest.mark.parametrize("text", ["</script>", "<!--", "<script", "]]>", "\u2028", "\udcff"])
def test_json_in_a_script_cannot_end_it(text):
    safe = json_in_script({"name": text})
    assert not set(safe) & {"<", ">", "&", "\u2028"}
    assert json.loads(safe) == {"name": text}


def test_the_page_asks_for_nothing_from_outside_and_runs_only_its_own_script():
    text = report(make_results(), MADE, [CLAIM])
    page = Page(text)
    links = [
        value for _, name, value in page.attributes if name in ("src", "href", "action", "data", "poster", "srcset")
    ]
    assert links == ["data:,", "#curves"]
    assert "@import" not in text
    assert "url(" not in text.replace("url(#inside)", "")
    (rule,) = [
        value for tag, name, value in page.attributes if tag == "meta" and name == "content" and "default-src" in value
    ]
    assert rule.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in rule


def test_a_report_of_the_whole_paper_stays_below_1_5_mb():
    # Noise in the last digits: the worst case for the differences that are written.
    noise = np.random.default_rng(0)
    traces = [f"trace{place}" for place in range(13)]
    policies = ["fgd", *PAPER_POLICIES, *(f"pwr:0.{place}+fgd:0.{10 - place}" for place in range(3, 10))]
    results = Results({(trace, policy): make_curves(trace, policy) for trace in traces for policy in policies})
    for curves in results.values():
        curves.values["eopc_w"] *= 1 + noise.normal(0, 0.001, curves.values["eopc_w"].shape)
        curves.values["grar"] *= 1 + noise.normal(0, 0.0005, curves.values["grar"].shape)
    assert len(results) == 13 * 16
    assert len(report(results, MADE, [CLAIM] * 29, gpus=6212).encode()) < 1_500_000


def test_the_same_results_give_the_same_bytes(tmp_path):
    for name in ("one.html", "two.html"):
        assert write_report(tmp_path / name, make_results(), MADE, [CLAIM]) == tmp_path / name
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert len(list(tmp_path.iterdir())) == 2


def test_a_report_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(UserError, match="cannot be written"):
        write_report(tmp_path / "report.html", make_results(), MADE)
    assert (tmp_path / "report.html").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "results",
    [
        Results({("t", "pwr"): make_curves("t", "pwr")}),
        make_results(("t",), seeds=1),
        make_results(("t",), reaches=0.3),
        make_results(("t",)) | {("t", "bound"): make_bound("t")},
        Results({("t", "fgd"): make_curves("t", "fgd")}),
    ],
    ids=["no baseline", "one seed", "ends early", "with a bound", "baseline alone"],
)
def test_odd_results_make_a_page_too(results):
    page = Page(report(results, {}))
    assert "nan" not in page.text.lower()
    assert page.tags.count("table") == 1


def test_the_bound_is_not_counted_as_a_policy_and_words_are_explained_where_they_first_appear():
    text = report(make_results(pwr=0.1) | {("default", "bound"): make_bound()}, {"command": "wattpack compare"})
    assert "2 scheduling policies and the bound on 1 trace" in text
    first = text.index("<h2>In words</h2>")
    for word in ("EOPC: estimated overall power", "GRAR: GPU allocated over GPU requested"):
        assert first < text.index(word) < text.index("<h2>Curves</h2>")
