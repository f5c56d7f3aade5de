"""The guide's examples of files are read as what the guide says, and its table of countries is the built-in one."""

import re
from pathlib import Path

import pytest

from wattpack.energy.account import Account
from wattpack.energy.readers import read_signal
from wattpack.energy.signal import BUDGET, CARBON, PRICE
from wattpack.energy.zones import ZONES

PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "energy.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```(?:csv|json)\n(.*?)```", PAGE, flags=re.DOTALL)
SHAPES = [
    (CARBON, "wattpack's own carbon intensity (CSV)"),
    (PRICE, "wattpack's own price (CSV)"),
    (BUDGET, "wattpack's own power budget (CSV)"),
    (CARBON, "Time, Carbon Intensity (CSV)"),
    (CARBON, "Electricity Maps (CSV, life-cycle)"),
    (CARBON, "Electricity Maps (JSON)"),
    (CARBON, "WattTime v3 (JSON)"),
    (CARBON, "UK Carbon Intensity (JSON)"),
    (CARBON, "Carbon Aware SDK (JSON)"),
]


def test_there_is_one_example_for_each_shape_of_text() -> None:
    assert len(EXAMPLES) == len(SHAPES)


@pytest.mark.parametrize("place", range(len(SHAPES)), ids=[shape for _, shape in SHAPES])
def test_an_example_is_recognised_and_has_two_values(place: int, tmp_path: Path) -> None:
    file = tmp_path / "example"
    file.write_text(EXAMPLES[place], encoding="utf-8")
    quantity, shape = SHAPES[place]
    signal = read_signal(file, quantity)
    assert (signal.shape, len(signal.value)) == (shape, 2)


def test_the_table_of_countries_is_the_built_in_one() -> None:
    told = {(code, float(value)) for code, value in re.findall(r"\b([A-Z]{3}) (\d+) \|", PAGE)}
    assert told == {(zone.iso3, zone.g_per_kwh) for zone in ZONES}


def test_every_column_that_the_guide_names_is_a_field_of_the_account() -> None:
    table = PAGE[PAGE.index("| column |") : PAGE.index("    facility(t)")]
    named = set(re.findall(r"`(\w+)`", table))
    assert len(named) > 20
    of_two_runs = {"saving", "against"}  # columns of time.csv that compare with another run
    assert named - of_two_runs <= set(Account.__annotations__)


def test_the_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(code, "energy.md", "exec"), {})
    assert "average" in capsys.readouterr().out
