"""Hypothesis profiles, and one compile of the kernels before the workers of pytest start."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# Examples are the same in every run: a failure elsewhere is a failure here. To look for new ones:
#   python -m pytest tests/engine --hypothesis-profile=explore
ALL = {
    "deadline": None,  # the first example of a test may compile
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
}
settings.register_profile("usual", derandomize=True, max_examples=100, **ALL)
settings.register_profile("plain", derandomize=True, max_examples=10, **ALL)  # for kernels that are not compiled
settings.register_profile("explore", derandomize=False, max_examples=2000, **ALL)

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
settings.load_profile("usual" if COMPILED else "plain")


# Tests are of kernels compiled here, whatever a set-up has left beside the sources (wattpack/jit/shipped.py).
os.environ["WATTPACK_KERNELS"] = "compile"

# Started in the background of a script (`make test &`), we would ignore Ctrl-C, and so would the commands that tests
# start and interrupt: what is ignored is inherited.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "compiled: too slow with the compiler off, see test_without_compiler.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests first: at the end one worker would run them while the others have nothing left to do."""
    items.sort(key=lambda item: item.path.name != "test_guide_policy.py")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile into the cache folder once; otherwise every worker would do it for itself, all at the same time."""
    is_worker = hasattr(session.config, "workerinput")
    if not is_worker and COMPILED and not session.config.option.collectonly:
        from builders import warm_up

        warm_up()


@pytest.fixture
def own_choices(tmp_path, monkeypatch):
    """Choices of `auto` kept for this test alone, and nothing remembered from another."""
    from wattpack.choose import choice
    from wattpack.jit import cache

    monkeypatch.setattr(cache, "FOLDER", tmp_path / "wattpack" / "kernels-0")
    choice._remembered.clear()
    yield
    choice._remembered.clear()
