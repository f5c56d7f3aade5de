"""Our own CSV files: `timestamp,zone,g_per_kwh,kind,source`, `timestamp,zone,price_per_kwh,currency`, and budgets."""

from __future__ import annotations

from collections.abc import Iterable

from wattpack.datasets.csv_files import Row
from wattpack.energy.readers.points import Points
from wattpack.energy.signal import AVERAGE, BUDGET, CARBON, MARGINAL, PRICE

# The column that tells the quantity, and the further ones that it needs.
COLUMNS = {
    CARBON: ("g_per_kwh", ("timestamp", "kind")),
    PRICE: ("price_per_kwh", ("timestamp", "currency")),
    BUDGET: ("kw", ()),
}
NAMES = {CARBON: "carbon intensity", PRICE: "price", BUDGET: "power budget"}


def matches(header: list[str], quantity: str) -> bool:
    return COLUMNS[quantity][0] in header


def shape(header: list[str], quantity: str) -> str:
    return f"wattpack's own {NAMES[quantity]} (CSV)"


def needed(header: list[str], quantity: str) -> tuple[str, ...]:
    value, others = COLUMNS[quantity]
    if quantity == BUDGET:
        others = ("seconds",) if "seconds" in header else ("timestamp",)
    return (*others, value)


def read(rows: Iterable[Row], points: Points) -> None:
    value = COLUMNS[points.quantity][0]
    for row in rows:
        text = row.text("kind").lower()
        if points.quantity == CARBON and text not in (AVERAGE, MARGINAL):
            raise row.fault("kind", f"{AVERAGE} or {MARGINAL}")
        money = row.text("currency").upper()
        if points.quantity == PRICE and not (len(money) == 3 and money.isascii() and money.isalpha()):
            raise row.fault("currency", "three letters, like EUR")
        if "seconds" in row.cells and points.quantity == BUDGET:
            points.from_start = True
            time_s = row.seconds("seconds", -1e12)
        else:
            time_s = points.stamp(row.line, "column timestamp", row.text("timestamp"))
        amount = points.amount(row.line, f"column {value}", row.text(value))
        points.add(row.line, time_s, amount, row.text("zone"), text, money, row.text("source"))
