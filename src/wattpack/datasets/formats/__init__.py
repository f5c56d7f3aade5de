"""Readers of public trace formats: one file a format, one line here."""

from __future__ import annotations

from wattpack.datasets.formats import alibaba2025, alibaba_spot2026, philly, sacct, slurm_tables, swf
from wattpack.datasets.formats.format import Format

FORMATS: dict[str, Format] = {
    found.name: found
    for found in (
        alibaba2025.FORMAT,
        alibaba_spot2026.FORMAT,
        philly.FORMAT,
        slurm_tables.HELIOS,
        slurm_tables.ACME,
        swf.FORMAT,
        sacct.FORMAT,
    )
}
