"""Names of GPU models: what drivers, clouds and people write, and the catalog's name for it.

A name is compared by its words, in any order and case: maker and series (NVIDIA, Tesla, GeForce, Instinct) and the kind
of memory (HBM3) do not count, `SXM4` and `NVLINK` are `SXM`, `80G` is `80GB`. A name that fits several models of other
watts ("h100": SXM, PCIe or NVL) is nobody's: it is reported, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from wattpack.model.catalog import GPUS

_SHARED = re.compile(r"-SHARED$", re.IGNORECASE)
_MIG = re.compile(r"-MIG-.*$", re.IGNORECASE)
_MAKER = re.compile(r"^(NVIDIA-|Tesla-|AMD-|Instinct-)+", re.IGNORECASE)
_SILENT = re.compile(r"nvidia|tesla|geforce|amd|instinct|gpu|hbm\d?e?|generation")
_FORM = re.compile(r"sxm\d?|nvlink")
_MEMORY = re.compile(r"(\d+)(?:g|gb|gib)")
_SERIES = re.compile(r"(rtx|gtx)(\d)")

# Catalog name -> further names. Where a name leaves something open, the comment says why it means this model.
ALIASES: dict[str, tuple[str, ...]] = {
    "V100-SXM2-16GB": ("v100",),  # the V100 of AWS and Google; others say what they are
    "A100-SXM4-40GB": ("a100-sxm",),
    "A100-SXM4-80GB": ("a100-80gb",),  # the name that Google gives it; the PCIe card is A100-80GB-PCIe
    "A100-80GB-PCIe": (),
    "A100-PCIE-40GB": ("a100-pcie",),
    "H100-80GB-HBM3": ("h100-sxm", "h100-sxm-80gb", "h100-mega-80gb"),
    "H100-PCIe": ("h100-pcie-80gb",),
    "H100-NVL": ("h100-nvl-94gb",),
    "H200": ("h200-sxm", "h200-141gb", "h200-sxm-141gb"),
    "H200-NVL": ("h200-nvl-141gb",),
    "H800": ("h800-sxm", "h800-80gb", "h800-sxm-80gb"),
    "H20": ("h20-96gb", "h20-sxm"),
    "B200": ("b200-sxm", "b200-180gb", "b200-192gb"),
    "B300": ("b300-sxm", "b300-sxm6-ac", "b300-288gb"),
    "L40S": ("l40s-48gb",),
    "L40": ("l40-48gb",),
    "L4": ("l4-24gb",),
    "T4": ("t4-16gb",),
    "A10": ("a10-24gb",),
    "A10G": ("a10g-24gb",),
    "A30": ("a30-24gb",),
    "A40": ("a40-48gb",),
    "RTX-A6000": ("a6000",),
    "RTX-6000-Ada-Generation": ("rtx-6000ada",),
    "RTX-PRO-6000-Blackwell-Server-Edition": ("rtx-pro-6000",),  # Google's name; the workstation card says so
    "GeForce-RTX-4090": ("4090",),
    "GeForce-RTX-3090": ("3090",),
    "MI300X": ("mi300x-oam",),
    "MI325X": ("mi325x-oam", "mi325-oam"),
    "MI350X": ("mi350x-oam",),
    "MI355X": ("mi355x-oam",),
}

# Words that fit several models -> those models, for the report.
AMBIGUOUS: dict[str, tuple[str, ...]] = {
    "h100": ("H100-80GB-HBM3", "H100-PCIe", "H100-NVL"),
    "a100-40gb": ("A100-SXM4-40GB", "A100-PCIE-40GB"),
    "v100-16gb": ("V100-SXM2-16GB", "V100-PCIE-16GB"),
    "v100-32gb": ("V100-SXM2-32GB", "V100-PCIE-32GB"),
    "v100-pcie": ("V100-PCIE-16GB", "V100-PCIE-32GB"),
    "v100-sxm": ("V100-SXM2-16GB", "V100-SXM2-32GB"),
    "a800": ("A800-SXM4-80GB", "A800-80GB-PCIe"),
    "a800-80gb": ("A800-SXM4-80GB", "A800-80GB-PCIe"),
    "rtx-6000": ("RTX-6000-Ada-Generation", "Quadro-RTX-6000"),
    "a6000-ada": ("RTX-6000-Ada-Generation", "RTX-A6000"),
}


def stripped(label: str) -> str:
    """`NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED` is an `A100-SXM4-80GB`."""
    text = label.strip().replace(" ", "-").replace("_", "-")
    return _MAKER.sub("", _MIG.sub("", _SHARED.sub("", text)))


def words(name: str) -> frozenset[str]:
    """The words of a name that tell models apart."""
    parts = _SERIES.sub(r"\1-\2", stripped(name).lower()).replace("/", "-").split("-")
    found = set()
    for part in parts:
        if part == "" or _SILENT.fullmatch(part):
            continue
        memory = _MEMORY.fullmatch(part)
        found.add("sxm" if _FORM.fullmatch(part) else f"{memory[1]}gb" if memory else part)
    return frozenset(found)


_BY_ALIAS = {words(alias): name for name, aliases in ALIASES.items() for alias in (name, *aliases)}
_BY_WORDS = {words(name): name for name in GPUS}
_SEVERAL = {words(name): models for name, models in AMBIGUOUS.items()}


def catalog_name(label: str) -> str:
    """The catalog's name for what a label says, "" if none or several."""
    found = words(label)
    return _BY_WORDS.get(found) or _BY_ALIAS.get(found, "")


def model_of(label: str, known: Iterable[str]) -> str:
    """The known model that a label names, "" if none. Its own name comes first, then the catalog's."""
    text = stripped(label).lower()
    names = {name.lower(): name for name in known}
    exact = names.get(label.strip().lower()) or names.get(text)
    return exact or names.get(catalog_name(label).lower(), "")


def possible_models(label: str) -> tuple[str, ...]:
    """The models that an ambiguous name may mean; () where it is not one of those."""
    return _SEVERAL.get(words(label), ())


def models_meant(name: str) -> tuple[str, ...]:
    """The models of the catalog that somebody may mean who writes a name that is in no profile."""
    one = catalog_name(name)
    return (one,) if one and one != name else possible_models(name)


def entry_name(product: str) -> str:
    """The name under which a product is, or would be, in the catalog."""
    return catalog_name(product) or stripped(product)
