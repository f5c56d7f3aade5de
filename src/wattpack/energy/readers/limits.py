"""What a value of a series may be. Beyond these bounds the unit is not what a user thinks it is."""

from __future__ import annotations

from wattpack.energy.signal import BUDGET, CARBON, PRICE

MAX_BYTES = 500_000_000  # of a file
MAX_G_PER_KWH = 5000.0  # the dirtiest coal plants emit less than 1,500
MAX_PRICE = 100_000.0  # per kWh, of any currency
MAX_KW = 1e9

# quantity -> least, most, what is expected
LIMITS = {
    CARBON: (0.0, MAX_G_PER_KWH, f"g CO2e per kWh from 0 to {MAX_G_PER_KWH:,.0f}"),
    PRICE: (-MAX_PRICE, MAX_PRICE, f"a price per kWh from {-MAX_PRICE:,.0f} to {MAX_PRICE:,.0f}"),
    BUDGET: (0.0, MAX_KW, f"kW from 0 to {MAX_KW:,.0f}"),
}
