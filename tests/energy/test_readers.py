"""Files of carbon intensity and price: every shape is recognised from its content, and faults name the place."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from wattpack.energy.readers import read_signal
from wattpack.energy.signal import AVERAGE, BUDGET, CARBON, MARGINAL, NOT_SAID, PRICE, Signal
from wattpack.errors import UserError

T0 = 1704067200.0  # 2024-01-01T00:00Z
SHARED = Path(__file__).parents[2] / ".." / "shared" / "data" / "carbon"


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Write the content to a file and read it; a dict or list is written as JSON."""

    def reading(content: Any, quantity: str = CARBON, zone: str = "") -> Signal:
        file = tmp_path / "signal"  # no ending: the content tells the shape
        if isinstance(content, bytes):
            file.write_bytes(content)
        else:
            file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return read_signal(file, quantity, zone)

    return reading


def fault_of(read: Any, content: Any, quantity: str = CARBON, zone: str = "") -> str:
    with pytest.raises(UserError) as fault:
        read(content, quantity, zone)
    text = str(fault.value)
    assert "\n" not in text
    assert len(text) < 500
    return text[text.index("/signal") + len("/signal") :]  # without the folder


OWN = "timestamp,zone,g_per_kwh,kind,source\n"
PRICES = "timestamp,zone,price_per_kwh,currency\n"


def test_our_own_csv_of_carbon(read: Any) -> None:
    signal = read(OWN + "2024-01-01T00:00Z,FR,50,average,RTE\n2024-01-01T01:00Z,FR,40.5,average,RTE\n")
    assert signal.shape == "wattpack's own carbon intensity (CSV)"
    assert (signal.time_s.tolist(), signal.value.tolist()) == ([T0, T0 + 3600], [50, 40.5])
    assert (signal.kind, signal.zone, signal.source, signal.notes) == (
        AVERAGE,
        "FR",
        "RTE",
        (f"read as {signal.shape}",),
    )


def test_columns_come_in_any_order_and_zone_and_source_may_be_missing(read: Any) -> None:
    signal = read("kind,g_per_kwh,more,timestamp\nmarginal,700,x,2024-01-01 00:00:00+00:00\n")
    assert (signal.value.tolist(), signal.kind, signal.zone) == ([700], MARGINAL, "")


def test_our_own_csv_of_prices(read: Any) -> None:
    signal = read(PRICES + "2024-01-01T00:00Z,DE,-0.02,eur\n2024-01-01T01:00Z,DE,0.08,EUR\n", PRICE)
    assert (signal.value.tolist(), signal.currency, signal.quantity) == ([-0.02, 0.08], "EUR", PRICE)
    assert signal.shape == "wattpack's own price (CSV)"


def test_a_budget_is_given_in_seconds_of_the_run_or_by_the_clock(read: Any) -> None:
    seconds = read("seconds,kw\n0,500\n3600,400\n", BUDGET)
    assert seconds.on_run_clock(None).at([0, 3600, 1e6]).tolist() == [500, 400, 400]
    clock = read("timestamp,kw\n2024-01-01T00:00Z,500\n2024-01-01T06:00Z,400\n", BUDGET)
    assert clock.on_run_clock(None).time_s.tolist() == [0, 21600]


def test_offsets_of_time_zones_are_respected(read: Any) -> None:
    signal = read(OWN + "2024-01-01T01:00+01:00,FR,50,average,\n2024-01-01T01:00:00Z,FR,40,average,\n")
    assert signal.time_s.tolist() == [T0, T0 + 3600]


def test_stamps_without_a_time_zone_are_taken_as_utc_and_noted(read: Any) -> None:
    signal = read(OWN + "2024-01-01 00:00,FR,50,average,\n2024-01-01 01:00,FR,50,average,\n")
    assert signal.time_s[0] == T0
    assert signal.notes[1].endswith("2 time stamps without a time zone taken as UTC")


def test_zones_of_a_file_may_alternate(read: Any) -> None:
    rows = [f"2024-01-01T0{hour}:00Z,{zone},{hour}{n},average," for hour in range(3) for n, zone in enumerate("AB", 1)]
    assert read(OWN + "\n".join(rows), zone="B").value.tolist() == [2, 12, 22]


def test_time_and_carbon_intensity_as_published_with_studies(read: Any) -> None:
    signal = read("Time,Carbon Intensity\n2024-01-01 00:00:00,42.34\n2024-01-01 00:30:00,42.1\n")
    assert (signal.shape, signal.kind) == ("Time, Carbon Intensity (CSV)", AVERAGE)
    assert signal.step_s == 1800


def test_csv_of_electricity_maps_in_its_newer_and_older_words(read: Any) -> None:
    newer = (
        "Datetime (UTC),Country,Zone name,Zone id,Carbon intensity gCO₂eq/kWh (direct),"
        "Carbon intensity gCO₂eq/kWh (Life cycle),Data source\n2024-01-01 00:00:00,France,France,FR,10.5,30.25,rte\n"
    )
    older = (
        newer.replace("Life cycle", "LCA").replace("Carbon intensity", "Carbon Intensity").replace("Zone id", "Zone Id")
    )
    for text in (newer, older):
        signal = read(text)
        assert (signal.value.tolist(), signal.zone, signal.kind) == ([30.25], "FR", AVERAGE)
        assert (signal.shape, signal.source) == ("Electricity Maps (CSV, life-cycle)", "Electricity Maps")
        assert (signal.time_s.tolist(), len(signal.notes)) == ([T0], 1)


def test_csv_of_electricity_maps_with_direct_intensities_alone_says_so(read: Any) -> None:
    signal = read("Datetime (UTC),Zone id,Carbon intensity gCO₂eq/kWh (direct)\n2024-01-01 00:00:00,FR,10.5\n")
    assert signal.notes[1].endswith("direct intensities: the file has no life-cycle ones")


@pytest.mark.parametrize("name", ["history", "data", "forecast"])
def test_json_of_electricity_maps(read: Any, name: str) -> None:
    entry = {
        "zone": "DE",
        "carbonIntensity": 302,
        "datetime": "2024-01-01T00:00:00.000Z",
        "emissionFactorType": "lifecycle",
    }
    signal = read({"zone": "DE", name: [entry, {**entry, "datetime": "2024-01-01T01:00:00.000Z"}]})
    assert (signal.shape, signal.zone, signal.kind) == ("Electricity Maps (JSON)", "DE", AVERAGE)
    assert (signal.time_s.tolist(), signal.value.tolist()) == ([T0, T0 + 3600], [302, 302])


def test_json_of_electricity_maps_with_direct_factors_says_so(read: Any) -> None:
    entry = {"carbonIntensity": 302, "datetime": "2024-01-01T00:00:00.000Z", "emissionFactorType": "direct"}
    assert read({"zone": "DE", "history": [entry]}).notes[1].endswith("emission factors: direct")


def watttime(**meta: str) -> dict[str, Any]:
    points = [{"point_time": f"2024-01-01T00:0{m}:00+00:00", "value": 1000.0, "version": "x"} for m in (0, 5)]
    return {"data": points, "meta": {"region": "CAISO_NORTH", **meta}}


def test_json_of_watttime_is_marginal_and_in_pounds_per_mwh(read: Any) -> None:
    signal = read(watttime(signal_type="co2_moer", units="lbs_co2_per_mwh"))
    assert signal.value.tolist() == pytest.approx([453.6, 453.6], rel=1e-4)
    assert (signal.shape, signal.kind, signal.zone, signal.step_s) == (
        "WattTime v3 (JSON)",
        MARGINAL,
        "CAISO_NORTH",
        300,
    )


def test_json_of_watttime_with_average_rates_is_average(read: Any) -> None:
    assert read(watttime(signal_type="co2_aoer", units="lbs_co2_per_mwh")).kind == AVERAGE


def test_other_signals_and_units_of_watttime_are_refused(read: Any) -> None:
    assert fault_of(read, watttime(signal_type="health_damage")) == (
        ": signal_type 'health_damage', expected co2_moer or co2_aoer"
    )
    assert fault_of(read, watttime(units="kg")) == ": units 'kg', expected lbs_co2_per_mwh"


def half_hour(stamp: str, **intensity: Any) -> dict[str, Any]:
    return {"from": stamp, "to": stamp, "intensity": {"index": "low", **intensity}}


def test_json_of_uk_carbon_intensity_national(read: Any) -> None:
    points = [
        half_hour("2024-01-01T00:00Z", forecast=60, actual=63),
        half_hour("2024-01-01T00:30Z", forecast=55, actual=None),
    ]
    signal = read({"data": points})
    assert (signal.value.tolist(), signal.zone, signal.kind) == ([63, 55], "GB", AVERAGE)
    assert signal.shape == "UK Carbon Intensity (JSON)"
    assert signal.notes[1].endswith("1 of 2 values are forecasts: no actual ones are there")


def test_json_of_uk_carbon_intensity_of_one_region_and_of_all(read: Any) -> None:
    region = {"regionid": 13, "dnoregion": "UKPN London", "shortname": "London"}
    points = [half_hour("2024-01-01T00:00Z", forecast=44), half_hour("2024-01-01T00:30Z", forecast=45)]
    for document in ({"data": {**region, "data": points}}, {"data": [{**region, "data": points}]}):
        assert (read(document).value.tolist(), read(document).zone) == ([44, 45], "London")
    wales = {"regionid": 17, "shortname": "Wales"}
    both = [{**region, "intensity": {"forecast": 44}}, {**wales, "intensity": {"forecast": 80}}]
    each = [{"from": f"2024-01-01T0{hour}:00Z", "to": "", "regions": both} for hour in range(2)]
    assert read({"data": each}, zone="wales").value.tolist() == [80, 80]


def test_json_of_the_carbon_aware_sdk(read: Any) -> None:
    web = [
        {"location": "eastus", "time": f"2024-01-01T0{h}:00:00+00:00", "rating": 65.5, "duration": "01:00:00"}
        for h in (0, 1)
    ]
    signal = read(web)
    assert (signal.shape, signal.zone, signal.kind) == ("Carbon Aware SDK (JSON)", "eastus", NOT_SAID)
    assert signal.notes[1].endswith("does not say whether its intensities are average or marginal")
    file = {"Date": "x", "Emissions": [{"Location": "Sydney", "Rating": "60", "Time": "2024-01-01T00:00:00"}]}
    assert (read(file).value.tolist(), read(file).zone) == ([60], "Sydney")


def parquet(path: Path, select: str) -> bytes:
    import duckdb

    file = path / "made.parquet"
    duckdb.execute(f"COPY ({select}) TO '{file}' (FORMAT parquet)")
    return file.read_bytes()


MADE = "make_timestamp((1704067200 + 3600 * i) * 1000000) AS timestamp, 10.0 * i AS carbon_intensity FROM range(3) t(i)"


@pytest.mark.parametrize(
    "select",
    [
        f"SELECT {MADE}",
        "SELECT (1704067200 + 3600 * i) * 1000 AS timestamp, 10.0 * i AS carbon_intensity FROM range(3) t(i)",
        "SELECT to_timestamp(1704067200 + 3600 * i) AS timestamp, 10 * i AS carbon_intensity FROM range(3) t(i)",
    ],
    ids=["time stamps", "milliseconds", "time stamps with zone"],
)
def test_parquet_of_opendc(read: Any, tmp_path: Path, select: str) -> None:
    signal = read(parquet(tmp_path, select))
    assert (signal.shape, signal.kind) == ("OpenDC (Parquet)", AVERAGE)
    assert (signal.time_s.tolist(), signal.value.tolist()) == ([T0, T0 + 3600, T0 + 7200], [0, 10, 20])


@pytest.mark.parametrize(
    ("select", "said"),
    [
        ("SELECT 1 AS timestamp", ": no column 'carbon_intensity', expected timestamp and carbon_intensity"),
        (f"SELECT timestamp, 'x' AS carbon_intensity FROM (SELECT {MADE})", ": cannot be read (Conversion Error"),
        ("SELECT '1' AS timestamp, 1 AS carbon_intensity", ": column timestamp is VARCHAR, expected time stamps"),
        (f"SELECT timestamp, NULL::DOUBLE AS carbon_intensity FROM (SELECT {MADE})", ", row 1, carbon_intensity: nan"),
        (
            f"SELECT NULL::TIMESTAMP AS timestamp, 1.0 AS carbon_intensity FROM (SELECT {MADE})",
            ", row 1, timestamp: nan",
        ),
        (f"SELECT timestamp, -1.0 AS carbon_intensity FROM (SELECT {MADE})", ", row 1, carbon_intensity: -1.0"),
        (f"SELECT * FROM (SELECT {MADE}) ORDER BY timestamp DESC", ", row 2: 2024-01-01T01:00:00Z, expected one after"),
    ],
)
def test_parquet_with_faults_is_refused_with_the_row(read: Any, tmp_path: Path, select: str, said: str) -> None:
    assert fault_of(read, parquet(tmp_path, select)).startswith(said)


def test_a_cut_parquet_file_is_refused(read: Any, tmp_path: Path) -> None:
    assert fault_of(read, parquet(tmp_path, f"SELECT {MADE}")[:-20]).startswith(": cannot be read (")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "2024-01-01T00:00Z,FR,x,average,\n",
            ", line 2, column g_per_kwh: 'x', expected g CO2e per kWh from 0 to 5,000",
        ),
        ("2024-01-01T00:00Z,FR,-1,average,\n", ", line 2, column g_per_kwh: '-1', expected g CO2e per kWh"),
        ("2024-01-01T00:00Z,FR,,average,\n", ", line 2, column g_per_kwh: '', expected g CO2e per kWh"),
        ("2024-01-01T00:00Z,FR,nan,average,\n", ", line 2, column g_per_kwh: 'nan', expected"),
        ("2024-01-01T00:00Z,FR,1,mean,\n", ", line 2, column kind: 'mean', expected average or marginal"),
        (
            "2024-13-01T00:00Z,FR,1,average,\n",
            ", line 2, column timestamp: '2024-13-01T00:00Z', expected a time stamp like",
        ),
        ("1704067200,FR,1,average,\n", ", line 2, column timestamp: '1704067200', expected a time"),
        ("0001-01-01,FR,1,average,\n", ", line 2, column timestamp: '0001-01-01', expected a time after 1970"),
        ("2024-01-01T00:00Z,FR,1\n", ", line 2: 3 cells, expected 5"),
        ("", ": no values (wattpack's own carbon intensity (CSV)), expected at least one"),
        (
            "2024-01-01T01:00Z,FR,1,average,\n\n2024-01-01T00:00Z,FR,1,average,\n",
            ", line 4: 2024-01-01T00:00:00Z, expected one after 2024-01-01T01:00:00Z: time stamps in order",
        ),
        (
            "2024-01-01T01:00Z,FR,1,average,\n2024-01-01T02:00+01:00,FR,1,average,\n",
            ", line 3: 2024-01-01T01:00:00Z, expected each time stamp once (line 2 has it already)",
        ),
        (
            "2024-10-27 02:00,FR,1,average,\n2024-10-27 02:00,FR,1,average,\n",
            ", line 3: 2024-10-27T02:00:00Z, expected each time stamp once (line 2 has it already; local clock time "
            "repeats an hour in autumn)",
        ),
        (
            "2024-01-01T00:00Z,FR,1,average,\n2024-01-01T01:00Z,FR,1,marginal,\n",
            ", line 3, kind: 'marginal', expected 'average' as before: never two in one series",
        ),
    ],
)
def test_faults_of_csv_are_one_line_with_the_place(read: Any, lines: str, said: str) -> None:
    assert fault_of(read, OWN + lines).startswith(said)


def test_prices_need_one_currency_of_three_letters(read: Any) -> None:
    assert fault_of(read, PRICES + "2024-01-01T00:00Z,FR,1,€\n", PRICE).startswith(", line 2, column currency: '€'")
    two = PRICES + "2024-01-01T00:00Z,FR,1,EUR\n2024-01-01T01:00Z,FR,1,CHF\n"
    assert fault_of(read, two, PRICE).startswith(", line 3, currency: 'CHF', expected 'EUR' as before")


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"history": [{"carbonIntensity": 1}]}, ", entry 1, datetime: None, expected a time stamp"),
        ({"history": [{"carbonIntensity": None, "datetime": "2024-01-01T00:00Z"}]}, ", entry 1, carbonIntensity: None"),
        ({"history": [{"carbonIntensity": True, "datetime": "2024-01-01T00:00Z"}]}, ", entry 1, carbonIntensity: True"),
        (
            {"history": [{"carbonIntensity": 1, "datetime": "2024-01-01T00:00Z"}, 3]},
            ", entry 2, entry: 3, expected an obj",
        ),
        ({"data": [half_hour("2024-01-01T00:00Z")]}, ", entry 1, forecast: None, expected g CO2e"),
        ({"data": [{"from": "2024-01-01T00:00Z"}]}, ", entry 1, intensity: None, expected an object"),
        ([{"rating": "x" * 500, "time": "2024-01-01T00:00Z"}], ", entry 1, rating: 'xxx"),
        ({"data": []}, ": not a known shape of carbon over time, expected OpenDC's Parquet"),
        ([], ": not a known shape of carbon"),
        ({"zone": "FR", "datetime": "2024-01-01T00:00Z"}, ": not a known shape of carbon"),
    ],
)
def test_faults_of_json_are_one_line_with_the_entry(read: Any, document: Any, said: str) -> None:
    assert fault_of(read, document).startswith(said)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"{",
        b"[" * 100_000,
        b'{"a":' * 5000,
        b'{"data": NaN}',
        b"a,b\n1,2\n",
        b"\x00" * 1000,
        b'"\n"',
    ],
    ids=["empty", "not text", "cut JSON", "deep list", "deep object", "NaN", "other CSV", "zeros", "quotes"],
)
def test_anything_else_is_refused_in_one_line(read: Any, content: bytes) -> None:
    assert "expected" in fault_of(read, content)


def test_a_file_of_another_quantity_is_not_taken(read: Any) -> None:
    assert "not a known shape of price" in fault_of(read, OWN + "2024-01-01T00:00Z,FR,1,average,\n", PRICE)
    assert "not a known shape of carbon" in fault_of(read, PRICES + "2024-01-01T00:00Z,FR,1,EUR\n")
    assert "not a known shape of price" in fault_of(read, {"history": [{"carbonIntensity": 1}]}, PRICE)


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.csv"
    with file.open("wb") as opened:
        opened.truncate(10**12)  # sparse
    with pytest.raises(UserError, match=r"1,000,000,000,000 bytes, expected a file of carbon over time of at most"):
        read_signal(file, CARBON)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, (OWN + "2024-01-01T00:00Z,FR,50,average,\n").encode())
    os.close(writer)
    assert read_signal(Path(f"/dev/fd/{reader}"), CARBON).value.tolist() == [50]
    os.close(reader)


@pytest.mark.skipif(not SHARED.is_dir(), reason="needs ../shared/data/carbon")
@pytest.mark.parametrize(
    ("name", "shape", "values", "gaps"),
    [
        ("fr_ci.csv", "Time, Carbon Intensity (CSV)", 18_574, 0),
        ("ger_ci.csv", "Time, Carbon Intensity (CSV)", 37_147, 2),
        ("opendc-2022-FR.parquet", "OpenDC (Parquet)", 8_735, 1),
    ],
)
def test_real_files_are_read_and_their_gaps_are_found(name: str, shape: str, values: int, gaps: int) -> None:
    signal = read_signal(SHARED / name, CARBON)
    assert (signal.shape, len(signal.value), len(signal.gaps)) == (shape, values, gaps)
    assert len(signal.on_run_clock(None, horizon_s=7 * 86400.0).value) == values
