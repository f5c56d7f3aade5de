"""The rules of `claims.csv`, on curves drawn as the paper says, and on curves that are a little or far off."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from wattpack.experiments.curves import LOADS, Curves, Results, at
from wattpack.experiments.lineup import COMPETITORS, MIXES, pwr_share
from wattpack.paper.claims import (
    COLUMNS,
    DIFFERS,
    HOLDS,
    RULES,
    WITHIN,
    Claim,
    check_claims,
    count_verdicts,
    must_hold_but_differ,
    write_claims,
)
from wattpack.paper.rules import above_until, last_load, load_text, positive_around

ROWS = Path(__file__).parents[3] / "shared" / "spec" / "claims.md"
A005, A01, A02 = MIXES
FEW, MANY = "pwr:0.02+fgd:0.98", "pwr:0.5+fgd:0.5"
REST = ("dotprod", "gpupacking", "gpuclustering")
Points = list[tuple[float, float]]

IDLE_W, FULL_W, GPU_SHARE = 220_000, 1_400_000, 0.74


def line(points: Points) -> np.ndarray:
    """Straight lines between (load, value)."""
    loads, values = zip(*points, strict=True)
    return np.interp(LOADS, loads, values)


class Drawn:
    """Savings in % and GRAR by (trace, policy), to be changed by a test and made into results."""

    def __init__(self) -> None:
        self.saving: dict[tuple[str, str], np.ndarray] = {}
        self.grar: dict[tuple[str, str], np.ndarray] = {}

    def draw(self, trace: str, policies: tuple[str, ...], saving: Points, grar: Points) -> None:
        for policy in policies:
            self.saving[trace, policy], self.grar[trace, policy] = line(saving), line(grar)

    def results(self, seeds: int = 10) -> Results:
        base = IDLE_W + (FULL_W - IDLE_W) * np.minimum(LOADS, 1)
        results = {}
        for key, saving in self.saving.items():
            eopc_w = base * (1 - saving / 100)
            values = {"eopc_w": eopc_w, "gpu_w": eopc_w * GPU_SHARE, "grar": self.grar[key]}
            rows = {name: np.tile(value, (seeds, 1)) for name, value in values.items()}
            results[key] = Curves(*key, tuple(range(seeds)), rows)
        return results

    def verdict(self, claim: str, seeds: int = 10) -> Claim:
        return next(row for row in check_claims(self.results(seeds)) if row.id == claim)


def ends_at(grar: float, from_load: float = 0.9) -> Points:
    return [(0, 1), (from_load, 1), (1, grar)]


@pytest.fixture
def paper() -> Drawn:
    """Curves that say what the paper says."""
    drawn, flat = Drawn(), [(0, 0), (0.15, 2), (1, 2)]
    fgd = [(0, 0), (1, 0)]
    phases = [(0, 0), (0.15, 15), (0.8, 13.2), (0.9, 5.1), (0.93, 8.1), (1, 8.1)]
    higher = [(0, 0), (0.15, 16), (0.8, 14.2), (0.9, 6), (0.93, 9), (1, 9)]
    drawn.draw("default", ("fgd",), fgd, ends_at(0.953))
    drawn.draw("default", MIXES, phases, ends_at(0.933))
    drawn.draw("default", (FEW,), phases, ends_at(0.930))
    drawn.draw("default", ("pwr", MANY), higher, ends_at(0.92))
    drawn.draw("default", ("bestfit",), [(0, -9), (0.15, 2), (0.88, 4.9), (1, 3)], ends_at(0.933))
    drawn.draw("default", REST, flat, ends_at(0.923))

    drawn.draw("gpushare40", ("fgd",), fgd, ends_at(0.94))
    drawn.draw("gpushare40", ("bestfit", *MIXES), flat, ends_at(0.92))
    drawn.draw("gpushare40", REST, flat, ends_at(0.90))

    drawn.draw("gpushare100", ("fgd",), fgd, ends_at(0.87, 0.8))
    drawn.draw("gpushare100", MIXES, [(0, 0), (0.15, 15), (0.7, 13.5), (0.8, 5.5), (1, 5)], ends_at(0.84, 0.8))
    drawn.draw("gpushare100", ("bestfit",), [(0, 0), (0.8, 5), (0.85, 2), (1, 2)], ends_at(0.85, 0.8))
    drawn.draw("gpushare100", REST, flat, ends_at(0.83, 0.8))

    for trace, best, gaps in (
        ("multigpu20", 0.955, (0.007, 0.017, 0.037)),
        ("multigpu50", 0.97, (0.004, 0.012, 0.025)),
    ):
        drawn.draw(trace, ("fgd",), fgd, ends_at(best))
        drawn.draw(trace, MIXES, flat, ends_at(best - gaps[0]))
        drawn.draw(trace, ("bestfit", "gpupacking", "gpuclustering"), flat, ends_at(best - gaps[1]))
        drawn.draw(trace, ("dotprod",), flat, ends_at(best - gaps[2]))
    for policy, much, little in ((A005, 7.5, 4.5), (A01, 12.5, 4.5), (A02, 12.5, 7.5)):
        drawn.saving["multigpu20", policy] = line([(0, 0), (0.15, much + 2), (0.82, much), (1, 2)])
        drawn.saving["multigpu50", policy] = line([(0, 0), (0.15, little + 2), (0.9, little), (1, 2)])

    large = [(0, 0), (0.15, 22), (0.35, 22), (0.9, 10.5), (1, 6)]
    drawn.draw("gpuspec10", ("fgd",), fgd, [(0, 1), (0.2, 1), (0.4, 0.99), (1, 0.947)])
    drawn.draw("gpuspec10", MIXES, large, [(0, 1), (0.2, 1), (0.4, 0.965), (1, 0.937)])
    drawn.draw("gpuspec10", COMPETITORS, flat, [(0, 1), (1, 0.92)])

    drawn.draw("gpuspec33", ("fgd",), fgd, [(0, 1), (0.1, 1), (0.6, 0.95), (1, 0.88)])
    for policy, middle, end in ((A005, 0.99, 0.90), (A01, 0.90, 0.86), (A02, 0.87, 0.85)):
        drawn.draw("gpuspec33", (policy,), large, [(0, 1), (0.1, 1), (0.6, middle), (1, end)])
    drawn.saving["gpuspec33", A005] = line([(0, 0), (0.15, 12), (1, 3)])
    drawn.draw("gpuspec33", COMPETITORS, [(0, 0), (0.15, 8), (1, 6)], [(0, 1), (1, 0.82)])
    return drawn


def test_every_statement_holds_on_curves_drawn_as_the_paper_says(paper):
    claims = check_claims(paper.results())
    # Table I rounds one share down that rounds up: within tolerance whatever the curves are
    assert {claim.id: claim.verdict for claim in claims if claim.verdict != HOLDS} == {"T1": WITHIN}
    assert count_verdicts(claims) == {HOLDS: 28, WITHIN: 1, DIFFERS: 0}
    assert all(claim.measured and claim.paper and claim.statement and not claim.why for claim in claims)


@pytest.mark.skipif(not ROWS.is_file(), reason="../shared/spec/claims.md is not beside the checkout")
def test_the_rows_are_those_of_the_specification_in_its_order():
    rows = re.findall(r"^\| ([A-Z]\d) \| ([^|]+) \|", ROWS.read_text(encoding="utf-8"), re.MULTILINE)
    assert [(rule.id, rule.section) for rule in RULES] == rows


# ---- a statement a little and far off --------------------------------------------------------------------------------

OFF = [
    # claim, (trace, policy), what is added to the saving in points, verdict
    ("A1", ("default", MANY), 0.0, HOLDS),
    ("D1", ("default", A01), -1.0, WITHIN),  # 13.2 - 1.0 = 12.2, above 13 - 1.5
    ("D1", ("default", A01), -3.0, DIFFERS),  # 10.2
    ("D2", ("default", A02), -1.0, WITHIN),  # 4.1 at 0.9
    ("D2", ("default", A02), -3.0, DIFFERS),  # 2.1 at 0.9, and down from 5 before 0.87
    ("D3", ("default", "bestfit"), 1.0, WITHIN),  # 5.9
    ("D3", ("default", "bestfit"), 2.0, DIFFERS),  # 6.9
    ("S1", ("gpushare100", A005), -1.0, WITHIN),
    ("S1", ("gpushare100", A005), -4.0, DIFFERS),
    ("S2", ("gpushare100", "bestfit"), 1.0, WITHIN),  # 6 against about 5
    ("S2", ("gpushare100", "bestfit"), 2.0, DIFFERS),
    ("M1", ("multigpu20", A005), -1.0, WITHIN),  # 6.5 against 7
    ("M1", ("multigpu20", A005), -3.0, DIFFERS),
    ("M2", ("multigpu50", A02), -1.0, WITHIN),
    ("M2", ("multigpu50", A02), -3.0, DIFFERS),
    ("C1", ("gpuspec10", A005), -1.0, WITHIN),
    ("C1", ("gpuspec10", A005), -3.0, DIFFERS),
    ("C1", ("gpuspec10", "dotprod"), 15.0, DIFFERS),  # a competitor saves more
    ("C2", ("gpuspec33", A02), 1.0, HOLDS),
    ("C2", ("gpuspec33", A02), 2.0, DIFFERS),  # 2 points more than in the 10 % case everywhere
    ("C2", ("gpuspec33", A005), 10.0, DIFFERS),  # always ahead of the competitors
]


@pytest.mark.parametrize(("claim", "key", "points", "verdict"), OFF)
def test_savings_that_are_off_by_more_than_the_tolerance_differ(paper, claim, key, points, verdict):
    paper.saving[key] = paper.saving[key] + points * (LOADS >= 0.05)
    assert paper.verdict(claim).verdict == verdict


GRAR_OFF = [
    # claim, (trace, policy), what is added to GRAR beyond 0.2, verdict
    ("A3", ("default", A02), -0.005, WITHIN),
    ("A3", ("default", A02), -0.02, DIFFERS),
    ("A4", ("default", MANY), 0.015, WITHIN),  # 0.935 against the worst 0.930 of a <= 0.2
    ("A4", ("default", MANY), 0.03, DIFFERS),
    ("A5", ("default", FEW), 0.008, WITHIN),  # 0.938 against 0.933
    ("A5", ("default", FEW), 0.02, DIFFERS),
    ("G1", ("default", "dotprod"), -0.03, WITHIN),  # the mean gap of three becomes 0.02 instead of 0.01
    ("G1", ("default", "dotprod"), -0.04, DIFFERS),
    ("G2", ("default", "gpupacking"), -0.005, WITHIN),
    ("G2", ("default", "gpupacking"), -0.02, DIFFERS),
    ("G3", ("gpushare40", "fgd"), 0.008, WITHIN),
    ("G3", ("gpushare40", "fgd"), 0.02, DIFFERS),
    ("G4", ("gpushare100", "bestfit"), -0.008, WITHIN),
    ("G4", ("gpushare100", "bestfit"), -0.022, DIFFERS),  # behind the combinations, by more than 0.01
    ("G5", ("multigpu20", A01), -0.005, WITHIN),  # 0.012 behind
    ("G5", ("multigpu20", A01), -0.02, DIFFERS),
    ("G6", ("multigpu50", "gpupacking"), 0.005, WITHIN),  # ahead of BestFit, which was not behind it
    ("G6", ("multigpu50", "dotprod"), 0.03, DIFFERS),  # the last is now ahead of all
    ("G7", ("gpuspec10", A02), -0.008, WITHIN),  # 0.033 against 0.025
    ("G7", ("gpuspec10", A02), -0.02, DIFFERS),
    ("G8", ("gpuspec33", A02), 0.008, WITHIN),
    ("G8", ("gpuspec33", A02), -0.02, DIFFERS),
    ("G8", ("gpuspec33", A005), -0.008, WITHIN),  # a little below FGD at 0.2
    ("G9", ("gpuspec33", "dotprod"), 0.035, WITHIN),  # 0.855 against 0.850
    ("G9", ("gpuspec33", "dotprod"), 0.05, DIFFERS),
]


@pytest.mark.parametrize(("claim", "key", "more", "verdict"), GRAR_OFF)
def test_grar_that_is_off_by_more_than_the_tolerance_differs(paper, claim, key, more, verdict):
    paper.grar[key] = paper.grar[key] + more * (LOADS > 0.2)
    assert paper.verdict(claim).verdict == verdict


@pytest.mark.parametrize(
    ("claim", "points", "verdict"),
    [
        ("A1", [(0, 0), (0.15, 15), (0.8, 2), (0.9, 2), (0.93, 2.5), (1, 2.5)], DIFFERS),  # not sustained
        ("A1", [(0, 10), (0.15, 12), (0.8, 10), (0.9, 8), (1, 8)], DIFFERS),  # neither a rise nor a fall to speak of
        ("A2", [(0, 0), (0.15, 15), (0.8, 13), (0.92, 5), (0.95, 6), (1, 6)], WITHIN),  # 0.02 later
        ("A2", [(0, 0), (0.15, 15), (0.8, 13), (0.96, 5), (0.99, 6), (1, 6)], DIFFERS),  # 0.06 later
        ("A2", [(0, 0), (0.15, 15), (0.8, 13), (0.9, 5), (0.93, 12), (1, 12)], DIFFERS),  # not a small one
        ("A4", [(0, 0), (0.15, 15), (0.8, 9), (0.9, 5), (1, 5)], DIFFERS),  # a > 0.2 does not follow PWR
    ],
)
def test_phases_of_a_mix(paper, claim, points, verdict):
    paper.saving["default", MANY] = line(points)
    assert paper.verdict(claim).verdict == verdict


def test_power_of_the_baseline_is_read_in_megawatts(paper, monkeypatch):
    assert [paper.verdict(claim).measured for claim in ("E1", "E2", "E3")] == [
        "0.220 MW",
        "1.400 MW at load 1.00",
        "74.0 to 74.0 % (74.0 % at load 0)",
    ]
    for name, value, claim in (("IDLE_W", 300_000, "E1"), ("FULL_W", 1_600_000, "E2"), ("GPU_SHARE", 0.8, "E3")):
        monkeypatch.setitem(globals(), name, value)
        assert paper.verdict(claim).verdict == DIFFERS


def test_twenty_percent_is_looked_for_at_moderate_load(paper):
    for key in paper.saving:
        if key[0].startswith("gpuspec"):
            paper.saving[key] = np.where(LOADS < 0.25, paper.saving[key], np.minimum(paper.saving[key], 15))
    found = paper.verdict("P1")
    assert (found.verdict, found.measured) == (DIFFERS, "the largest saving on [0.3, 0.7] is 15.0 %")


# ---- what a row says -------------------------------------------------------------------------------------------------


def test_until_is_told_with_the_load_at_which_it_ends(paper):
    # from 13.2 at 0.8 the savings fall by 0.405 points per 0.005 of load: below 13 at 0.805
    assert "above 13 % until 0.80, 0.80, 0.80" in paper.verdict("D1").measured
    paper.saving["default", A005] -= 3.0
    found = paper.verdict("D1")
    assert "above 13 % until never, 0.80, 0.80, least on [0.15, 0.80] 10.2, 13.2, 13.2 %" in found.measured
    assert found.why.startswith("a=0.05 saves 10.2 % at load 0.80, 2.8 points less than 13. ")


def test_a_row_that_differs_says_that_few_seeds_were_run(paper):
    paper.saving["default", A005] -= 3.0
    assert "Only 2 of the paper's 10 seeds" in paper.verdict("D1", seeds=2).why
    assert "seeds" not in paper.verdict("D1").why


def test_statements_without_their_curves_are_left_out(paper):
    results = {key: curves for key, curves in paper.results().items() if key[0] == "default"}
    assert [claim.id for claim in check_claims(results)] == [
        *("T1", "T2", "E1", "E2", "E3", "A1", "A2", "A3", "A4", "A5"),
        *("D1", "D2", "D3", "G1", "G2"),
    ]
    assert [claim.id for claim in check_claims({})] == ["T1", "T2"]
    without_small_and_large_shares = {key: value for key, value in results.items() if key[1] not in (FEW, MANY)}
    assert not {"A4", "A5"} & {claim.id for claim in check_claims(without_small_and_large_shares)}


def test_only_statements_that_our_data_decide_must_hold(paper):
    claims = check_claims(paper.results())
    assert must_hold_but_differ(claims) == []
    wrong = [Claim(claim.id, "", "", "", "", DIFFERS) for claim in claims]
    assert [claim.id for claim in must_hold_but_differ(wrong)] == ["T1", "T2"]


def test_claims_csv_has_the_fixed_columns_first(paper, tmp_path):
    claims = check_claims(paper.results())
    write_claims(tmp_path / "claims.csv", claims)
    with (tmp_path / "claims.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert COLUMNS[:6] == ("id", "section", "statement", "paper", "measured", "verdict")
    assert rows == [claim.row() for claim in claims]


# ---- what the rules are made of --------------------------------------------------------------------------------------


def test_one_tolerance_is_allowed_not_two_at_once():
    earlier = np.where(LOADS <= 0.775, 14.0, 5.0)  # ends 0.025 early
    lower = np.where(LOADS <= 0.8, 12.0, 5.0)  # 1 point low
    both = np.where(LOADS <= 0.775, 12.0, 5.0)
    verdicts = [above_until(values, 13, 0.8, "").verdict for values in (earlier, lower, both)]
    assert verdicts == [WITHIN, WITHIN, DIFFERS]


def test_last_load_is_the_end_of_the_first_stretch():
    met = (LOADS < 0.5) | (LOADS > 0.6)
    assert last_load(met) == LOADS[at(0.495)]
    assert last_load(met, 0.55) is None
    assert last_load(LOADS >= 0) == 1.0
    assert [load_text(load) for load in (0.8, 0.475, None)] == ["0.80", "0.475", "never"]


def test_positive_around_a_load():
    values = np.where((LOADS >= 0.2) & (LOADS <= 0.7), 1.0, 0.0)
    assert positive_around(values, 0.4) == (0.2, 0.7)
    assert positive_around(values, 0.1) == (0.1, 0.1)
    assert positive_around(np.ones(len(LOADS)), 0.4) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("policy", "share"),
    [("pwr:0.05+fgd:0.95", 0.05), ("fgd:0.9+pwr:0.1", 0.1), ("pwr", None), ("fgd", None), ("bound", None)],
)
def test_share_of_pwr(policy, share):
    assert pwr_share(policy) == share
