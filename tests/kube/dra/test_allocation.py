"""The allocation as it is written to a claim."""

from __future__ import annotations

import json

import msgspec

from kube.dra.made import DRIVER, device, exactly, make_class, make_slice, make_spec
from wattpack.kube.dra.allocation import allocation_of
from wattpack.kube.dra.inventory import Inventory
from wattpack.kube.dra.objects import ClaimSpec, DeviceConfig, Result

OPAQUE = {"driver": DRIVER, "parameters": {"mode": "fast", "deep": [1, {"x": None}]}}
CLASS = make_class("gpu", "true", config=[{"opaque": OPAQUE}])


def written(spec: ClaimSpec, *results: Result, everywhere: bool = False) -> dict[str, object]:
    where = {"node": "", "allNodes": True} if everywhere else {}
    inventory = Inventory([make_slice(device("gpu-0"), device("gpu-1"), pool="n1", **where)], [CLASS])
    return json.loads(msgspec.json.encode(allocation_of(spec, results, "n1", inventory)))


def test_what_is_written_names_devices_parameters_and_the_node() -> None:
    share = Result("r", DRIVER, "n1", "gpu-0", share="u", consumed_capacity={"milli": "460"})
    assert written(make_spec(exactly()), share) == {
        "devices": {
            "results": [
                {
                    "request": "r",
                    "driver": DRIVER,
                    "pool": "n1",
                    "device": "gpu-0",
                    "shareID": "u",
                    "consumedCapacity": {"milli": "460"},
                }
            ],
            "config": [{"source": "FromClass", "opaque": OPAQUE}],  # for all requests: none is named
        },
        "nodeSelector": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [],
                    "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}],
                }
            ]
        },
    }


def test_parameters_of_a_claim_go_to_the_alternative_that_was_taken() -> None:
    options = [{"name": name, "deviceClassName": "gpu"} for name in ("big", "small")]
    spec = make_spec({"name": "r", "firstAvailable": options}, exactly("s"))
    spec.devices.config = msgspec.convert(
        [{"requests": ["r/big"], "opaque": OPAQUE}, {"requests": ["r/small"], "opaque": OPAQUE}],
        list[DeviceConfig],
    )
    found = written(spec, Result("r/small", DRIVER, "n1", "gpu-0"), Result("s", DRIVER, "n1", "gpu-1"))
    devices = found["devices"]
    assert isinstance(devices, dict)
    assert [(one["source"], one.get("requests")) for one in devices["config"]] == [
        ("FromClass", None),
        ("FromClaim", ["r/small"]),
    ]


def test_devices_that_all_nodes_reach_need_no_node() -> None:
    assert "nodeSelector" not in written(make_spec(exactly()), Result("r", DRIVER, "n1", "gpu-0"), everywhere=True)
