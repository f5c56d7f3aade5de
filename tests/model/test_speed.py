"""Speeds of GPUs: what may replace what, and how far the rough figures can be trusted."""

from __future__ import annotations

import pytest

from wattpack.model.catalog import GPUS, PAPER_NAMES
from wattpack.model.speed import MEASURED, ROUGH, SIBLING, SPEEDS, _rough, is_no_slower, may_replace, speed_of

# Peak fp16 TFLOP/s (dense) and GB/s of the measured models.
FIGURES = {
    "V100-SXM2-16GB": (125, 900),
    "A10": (125, 600),
    "A100-PCIE-40GB": (312, 1555),
    "A100-80GB-PCIe": (312, 1935),
    "A100-SXM4-80GB": (312, 2039),
    "RTX-A6000": (155, 768),
    "RTX-6000-Ada-Generation": (364, 960),
    "H100-PCIe": (756, 2000),
    "H100-80GB-HBM3": (989, 3350),
}


@pytest.mark.parametrize("model", FIGURES)
def test_the_rough_formula_is_within_20_percent_of_what_was_measured(model: str) -> None:
    assert SPEEDS[model].confidence == MEASURED
    assert _rough(*FIGURES[model]).relative == pytest.approx(SPEEDS[model].relative, rel=0.2)


def test_every_model_with_a_speed_is_in_the_catalog() -> None:
    assert set(SPEEDS) <= set(GPUS)


def test_every_speed_has_a_confidence_and_a_source() -> None:
    assert all(speed.confidence in (MEASURED, SIBLING, ROUGH) and speed.source for speed in SPEEDS.values())


def test_the_papers_models_have_the_speed_of_their_entry() -> None:
    assert speed_of("G2") == SPEEDS["A10"]
    assert all(speed_of(model) is not None for model in PAPER_NAMES)


@pytest.mark.parametrize(
    ("model", "than", "verdict"),
    [
        ("A10", "A10", True),
        ("G2", "A10", True),  # taken for the same
        ("H100-80GB-HBM3", "A100-SXM4-80GB", True),
        ("A100-SXM4-80GB", "H100-80GB-HBM3", False),
        ("A800-SXM4-80GB", "A100-SXM4-80GB", True),
        ("A100-SXM4-80GB", "A800-SXM4-80GB", True),
        ("A10", "T4", True),  # 0.324 against 1.25 x 0.181
        ("T4", "P100", False),  # 0.181 and 0.155, both rough: nobody knows
        ("P100", "T4", False),
        ("H20", "A100-SXM4-80GB", False),  # 0.965, rough
        ("A100-SXM4-80GB", "H20", False),
        ("MI300X", "T4", False),  # another maker's
        ("T4", "nosuch", False),
        ("nosuch", "nosuch", True),
    ],
)
def test_a_gpu_is_no_slower_only_where_that_is_sure(model: str, than: str, verdict: bool) -> None:
    assert is_no_slower(model, than) is verdict


def test_a_gpu_with_less_memory_does_not_replace_one_with_more() -> None:
    assert is_no_slower("V100M16", "V100M32")
    assert not may_replace("V100M16", "V100M32")
    assert may_replace("V100M32", "V100M16")
    assert may_replace("V100M16", "P100")  # 16160 and 16280 MiB are both 16 GB


def test_every_gpu_of_the_catalog_may_replace_itself() -> None:
    assert all(may_replace(model, model) for model in GPUS)
