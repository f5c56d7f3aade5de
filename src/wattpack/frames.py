"""Columns as a pandas frame, where a user asks for one. Only this imports pandas: wattpack does not require it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wattpack.errors import UserError

if TYPE_CHECKING:
    from pandas import DataFrame


def new_frame(columns: Mapping[str, Any]) -> DataFrame:
    """A frame with these columns, in this order."""
    try:
        import pandas
    except ImportError:
        raise UserError("to_pandas: pandas is not installed, expected it; `pip install pandas` installs it") from None
    return pandas.DataFrame(dict(columns))
