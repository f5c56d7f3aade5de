"""Product labels of nodes, as they are found on real nodes, and the models they mean."""

from __future__ import annotations

import pytest

from wattpack.model.catalog import GPUS
from wattpack.model.gpu_names import ALIASES, AMBIGUOUS, catalog_name, entry_name, model_of, possible_models, words
from wattpack.model.power import PAPER


@pytest.mark.parametrize(
    ("label", "model"),
    [
        ("Tesla-T4", "T4"),
        ("NVIDIA-Tesla-T4-SHARED", "T4"),
        ("nvidia-tesla-t4", "T4"),
        ("NVIDIA-A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", "A100-SXM4-80GB"),
        ("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb-SHARED", "A100-SXM4-40GB"),
        ("A100-SXM4-40GB", "A100-SXM4-40GB"),
        ("NVIDIA-H100-80GB-HBM3", "H100-80GB-HBM3"),
        ("nvidia-h100-mega-80gb", "H100-80GB-HBM3"),
        ("NVIDIA-H100-PCIe", "H100-PCIe"),
        ("NVIDIA-L40S", "L40S"),
        ("Tesla-V100-SXM2-32GB", "V100-SXM2-32GB"),
        ("NVIDIA RTX A6000", "RTX-A6000"),
        ("AMD_Instinct_MI300X_OAM", "MI300X"),
        ("G2", "G2"),
        ("NVIDIA-GeForce-GTX-1080", ""),  # no watts known
        ("NVIDIA-GB300", ""),  # a limit, but no idle reading
        ("", ""),
    ],
)
def test_a_label_names_a_model_or_none(label: str, model: str) -> None:
    assert model_of(label, PAPER.known_gpus) == model


def test_every_alias_means_a_model_of_the_catalog_and_no_two_mean_the_same_words() -> None:
    assert set(ALIASES) <= set(GPUS)
    named = [words(name) for name in GPUS] + [words(alias) for aliases in ALIASES.values() for alias in aliases]
    assert len(named) == len(set(named))


def test_an_ambiguous_name_is_no_alias_and_its_models_are_in_the_catalog() -> None:
    for name, models in AMBIGUOUS.items():
        assert catalog_name(name) == ""
        assert possible_models(name) == models
        assert set(models) <= set(GPUS)


@pytest.mark.parametrize(
    ("product", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100-80GB-HBM3"),
        ("Tesla T4", "T4"),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("NVIDIA X100 Super", "X100-Super"),
    ],
)
def test_a_product_as_the_driver_names_it_has_the_catalogs_name_or_its_own(product: str, name: str) -> None:
    assert entry_name(product) == name
