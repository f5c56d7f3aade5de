"""What tests of the experiments share."""

from collections.abc import Iterator

import pytest

from wattpack.policies import REGISTRY


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """Policies that a test registers are forgotten after it."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)
