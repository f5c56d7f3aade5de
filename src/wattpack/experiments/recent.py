"""The few latest values by key: what the runs of one seed share is made once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

T = TypeVar("T")


class Recent:
    """The few latest values by key, for threads: all policies of a seed share its workload and node order."""

    def __init__(self, size: int) -> None:
        self._size, self._values, self._lock = size, OrderedDict[Hashable, Any](), Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of `key`, made if it is not there (twice, if two threads ask at once: that does no harm)."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                value: T = self._values[key]
                return value
        value = make()
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return value
