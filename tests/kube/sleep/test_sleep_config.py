"""The `[sleep]` section: strict, all errors at once, and off unless it is there."""

from __future__ import annotations

import pytest

from wattpack.errors import UserError
from wattpack.kube.config import Config, parse_config
from wattpack.kube.sleep.selector import parse_selector, selects

ACT = """
[sleep]
mode = "act"
nodes = "pool=gpu"
power = "command"
[sleep.command]
argv = ["switch"]
"""


def test_without_the_section_no_node_sleeps() -> None:
    assert Config().sleep is None


def test_the_section_of_the_issue_is_read() -> None:
    text = '[sleep]\nmode = "advise"\nnodes = "pool=gpu"\nreserve = "2%"\nidle = "10m"\nat_most = 5\n'
    sleep = parse_config(text.encode(), "file").sleep
    assert sleep is not None
    assert (sleep.acts, sleep.idle_s, sleep.at_most, sleep.reserve_gpus(101)) == (False, 600.0, 5, 3)


def test_act_needs_a_switch_that_is_described() -> None:
    assert parse_config(ACT.encode(), "file").sleep is not None
    with pytest.raises(UserError, match=r"sleep\.redfish\.address"):
        parse_config(b'[sleep]\nmode = "act"\nnodes = "pool=gpu"\n', "file")
    with pytest.raises(UserError, match="expected advise in shadow mode"):
        parse_config(('mode = "shadow"' + ACT).encode(), "file")


def test_all_errors_are_told_at_once() -> None:
    text = ACT + ""
    text = text.replace('nodes = "pool=gpu"', 'nodes = "a b"\nreserve = "x"\nidle = "soon"\nat_most = 0\nfloor = -1')
    with pytest.raises(UserError) as told:
        parse_config(text.encode(), "file")
    for part in ("sleep.nodes: 'a b'", "reserve 'x'", "sleep.idle", "sleep.at_most: 0", "sleep.floor: -1"):
        assert part in str(told.value)


@pytest.mark.parametrize("text", ["", "a b", "a=b c", "a in b", "a in (b", "=x", "a=b,,c=d"])
def test_a_selector_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="expected a label selector"):
        parse_selector(text)


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        ("pool=gpu", {"pool": "gpu"}, True),
        ("pool==gpu", {"pool": "cpu"}, False),
        ("pool!=gpu", {}, True),
        ("pool=gpu, zone in (a, b)", {"pool": "gpu", "zone": "b"}, True),
        ("zone notin (a,b)", {"zone": "b"}, False),
        ("spot", {"spot": ""}, True),
        ("!spot", {"spot": ""}, False),
        ("node.example.com/pool=gpu", {"node.example.com/pool": "gpu"}, True),
    ],
)
def test_a_selector_selects_as_kubectl_does(text: str, labels: dict[str, str], selected: bool) -> None:
    assert selects(parse_selector(text), labels) is selected


def test_the_binding_timeout_is_that_of_kube_scheduler_unless_it_is_set() -> None:
    sleep = parse_config(ACT.encode(), "file").sleep
    assert sleep is not None
    assert (sleep.binding_timeout_s, sleep.schedulers) == (600.0, ("wattpack",))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('binding_timeout = "4s"', "sleep.binding_timeout: 4s, expected 5s or more"),
        ('binding_timeout = "soon"', "sleep.binding_timeout: "),
        ("schedulers = []", "sleep.schedulers: expected one name or more"),
        ('schedulers = [""]', "sleep.schedulers: expected one name or more"),
    ],
)
def test_a_time_too_short_and_no_scheduler_are_refused(line: str, said: str) -> None:
    with pytest.raises(UserError) as told:
        parse_config(ACT.replace('nodes = "pool=gpu"', f'nodes = "pool=gpu"\n{line}').encode(), "file")
    assert said in str(told.value)
