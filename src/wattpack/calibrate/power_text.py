"""New entries in a power file: what is in the file already stays as it is, comments too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from wattpack.calibrate.fleet_fit import FleetFit
from wattpack.errors import UserError
from wattpack.files import is_standard_output, write_text
from wattpack.model.power_file import MAX_BYTES, GpuItem, PowerFile, parse_power, to_toml


def read_existing(file: Path) -> str:
    """The text of a power file that entries will be added to; "" if there is none yet."""
    if is_standard_output(file) or not file.is_file():
        return ""
    with file.open("rb") as opened:
        data = opened.read(MAX_BYTES + 1)
    parse_power(data, str(file))
    return data.decode("utf-8-sig")


def refuse_known(text: str, file: Path, names: set[str]) -> None:
    known = names & set(parse_power(text.encode(), str(file)).gpu)
    if known:
        raise UserError(f'{file}: has an entry [gpu."{min(known)}"] already, expected a file without it')


def with_entries(text: str, gpus: Mapping[str, GpuItem], comments: Mapping[str, str]) -> str:
    """The text of a power file with further GPUs. `comments` by model."""
    added = to_toml(PowerFile(gpu=dict(gpus)), {f'gpu."{name}"': comment for name, comment in comments.items()})
    return f"{text.rstrip()}\n\n{added}" if text.strip() else added


def write_entries(file: Path, text: str) -> None:
    parse_power(text.encode(), str(file))  # what is written can be read
    write_text(file, text)


def fleet_item(fit: FleetFit, source: str) -> GpuItem | None:
    """What the samples tell of a model; the rest of the entry is inherited. None where they tell nothing."""
    if fit.idle_w is None and fit.max_w is None:
        return None
    return GpuItem(
        idle_w=_rounded(fit.idle_w),
        context_w=_rounded(fit.context_w),
        max_w=_rounded(fit.max_w),
        source=source,
        confidence="fit",
        samples=fit.samples,
        fit_error_w=_rounded(fit.error_w),
    )


def _rounded(watts: float | None) -> float | None:
    return None if watts is None else round(watts, 1)
