"""What a user may write for carbon, price, budget, PUE and embodied carbon."""

from pathlib import Path

import pytest

from wattpack.energy.chosen import (
    chosen_budget,
    chosen_carbon,
    chosen_embodied,
    chosen_price,
    chosen_pue,
    named_zone,
)
from wattpack.energy.embodied import Embodied
from wattpack.energy.signal import AVERAGE, NOT_SAID
from wattpack.energy.zones import BY_NAME, ZONES
from wattpack.errors import UserError

OWN = "timestamp,zone,g_per_kwh,kind,source\n2024-01-01T00:00Z,FR,50,average,me\n2024-01-01T00:00Z,DE,300,average,me\n"


@pytest.mark.parametrize("text", ["FR", "fra", "France", " france "])
def test_a_country_is_found_by_either_iso_code_or_its_name_in_any_case(text: str) -> None:
    signal = named_zone(text)
    assert (signal.value.tolist(), signal.zone, signal.kind) == ([56], "FRA", AVERAGE)
    assert "Our World in Data" in signal.source
    assert "CC BY 4.0" in signal.source


def test_there_are_30_countries_and_no_two_share_a_name() -> None:
    assert len(ZONES) == 30
    assert len(BY_NAME) == 90


def test_carbon_is_a_country_a_number_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "ci.csv"
    file.write_text(OWN)
    assert chosen_carbon("PL").value.tolist() == [662]
    assert chosen_carbon("120.5").value.tolist() == [120.5]
    assert chosen_carbon("120.5").kind == NOT_SAID
    assert chosen_carbon(f"{file}:DE").value.tolist() == [300]
    assert chosen_carbon(str(file), zone="fr").value.tolist() == [50]


def test_a_file_with_several_zones_needs_one_named(tmp_path: Path) -> None:
    file = tmp_path / "ci.csv"
    file.write_text(OWN)
    with pytest.raises(UserError, match=r"2 zones \(DE, FR\), expected the choice of one: FILE:ZONE"):
        chosen_carbon(str(file))
    with pytest.raises(UserError, match="no zone 'XX', expected one of DE, FR"):
        chosen_carbon(f"{file}:XX")
    with pytest.raises(UserError, match="zone 'DE' and zone 'FR', expected one of them"):
        chosen_carbon(f"{file}:DE", zone="FR")


def test_a_price_is_a_number_with_or_without_its_currency_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "price.csv"
    file.write_text("timestamp,zone,price_per_kwh,currency\n2024-01-01T00:00Z,FR,-0.01,EUR\n")
    for text, value, currency in (("0.21", 0.21, ""), ("0.21 EUR", 0.21, "EUR"), ("2usd", 2.0, "USD")):
        assert (chosen_price(text).value.tolist(), chosen_price(text).currency) == ([value], currency)
    assert (chosen_price(str(file)).value.tolist(), chosen_price(str(file)).currency) == ([-0.01], "EUR")


@pytest.mark.parametrize("text", ["", "Atlantis", "nan", "-3", "1e9", "inf", "1_0"])
def test_other_texts_are_refused_as_carbon_in_one_line(text: str) -> None:
    with pytest.raises(UserError) as fault:
        chosen_carbon(text)
    assert str(fault.value).startswith(f"carbon {text!r}, expected")
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize("text", ["", "cheap", "0.2 EURO", "1e9", "nan"])
def test_other_texts_are_refused_as_price_in_one_line(text: str) -> None:
    with pytest.raises(UserError, match=r"price .*, expected"):
        chosen_price(text)


@pytest.mark.parametrize("text", ["x" * 5000, "a\0b", ":", "::", "/", "x.csv:" + "y" * 5000, "\udcff"], ids=repr)
def test_texts_that_can_be_no_path_are_refused_too(text: str) -> None:
    for chosen in (chosen_carbon, chosen_price, chosen_budget):
        with pytest.raises(UserError, match="expected"):
            chosen(text)


def test_a_file_that_is_not_there_is_refused_with_its_path() -> None:
    with pytest.raises(UserError, match=r"no/such\.csv: cannot be read"):
        chosen_carbon("no/such.csv")
    with pytest.raises(UserError, match=r"no/such\.csv: cannot be read"):
        chosen_carbon("no/such.csv:FR")


@pytest.mark.parametrize("text", ["0.9", "3.1", "high", "nan", ""])
def test_a_pue_outside_of_1_to_3_is_refused(text: str) -> None:
    assert chosen_pue("1.3") == 1.3
    with pytest.raises(UserError, match="expected a number from 1 to 3"):
        chosen_pue(text)


@pytest.mark.parametrize("text", ["0", "-1", "x", "nan"])
def test_a_budget_is_a_number_of_kw_above_0(text: str) -> None:
    assert chosen_budget("250").value.tolist() == [250]
    with pytest.raises(UserError, match=r"budget .*, expected"):
        chosen_budget(text)


def test_embodied_carbon_is_given_by_gpu_node_and_years() -> None:
    assert chosen_embodied("node=1000, years=5") == Embodied(150.0, 1000.0, 5.0)


@pytest.mark.parametrize("text", ["", "gpu", "gpu=", "gpu=-1", "gpu=1,gpu=2", "watts=3", "years=0"])
def test_other_texts_are_refused_as_embodied_carbon(text: str) -> None:
    with pytest.raises(UserError, match=r"embodied .*, expected"):
        chosen_embodied(text)
