"""The OpenAPI document is what the service does: every answer is checked against it, field by field."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kube.test_app import Front, ask
from wattpack.kube.measured import Sample, errors_by_model
from wattpack.kube.objects import Pod
from wattpack.kube.openapi import OPENAPI
from wattpack.kube.service import Service
from wattpack.kube.wire import BindingArgs, ExtenderArgs

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def schema_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = OPENAPI["components"]["schemas"][name]
    return found


def faults(value: Any, schema: dict[str, Any], place: str = "") -> list[str]:
    """Where `value` is not what `schema` says. A field that the schema does not name is a fault too."""
    if "$ref" in schema:
        return faults(value, schema_of(schema["$ref"].split("/")[-1]), place)
    if "anyOf" in schema:
        tried = [faults(value, one, place) for one in schema["anyOf"]]
        return min(tried, key=len)
    kinds = schema.get("type", list(TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(isinstance(value, TYPES[kind]) for kind in kinds):
        return [f"{place}: {value!r}, expected {kinds}"]
    found = []
    if isinstance(value, dict) and ("properties" in schema or "additionalProperties" in schema):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", False)
        found += [f"{place}: no {name}" for name in schema.get("required", []) if name not in value]
        for name, inner in value.items():
            if name in known:
                found += faults(inner, known[name], f"{place}/{name}")
            elif others is False:
                found.append(f"{place}/{name}: sent, and not in the document")
            elif isinstance(others, dict):
                found += faults(inner, others, f"{place}/{name}")
    if isinstance(value, list):
        first = schema.get("prefixItems", [])
        for i, inner in enumerate(value):
            one = first[i] if i < len(first) else schema.get("items", {})
            found += [f"{place}/{i}: one too many"] if one is False else faults(inner, one, f"{place}/{i}")
    return found


def answer_schema(method: str, path: str, status: int = 200) -> dict[str, Any]:
    content = OPENAPI["paths"][path][method]["responses"][str(status)]["content"]
    found: dict[str, Any] = content["application/json"]["schema"]
    return found


def test_every_answer_is_as_the_document_says_field_by_field() -> None:
    async def test(front: Front) -> None:
        client, service = front.client, front.service
        pod = client.pods["p"]
        client.add_pod("big", milli=1000, count=3)
        client.add_pod("odd", milli=700, count=3)
        binding = {"PodName": "p", "PodNamespace": "default", "PodUID": "uid-p", "Node": "a"}
        whole = {"items": [{"metadata": {"name": "a"}}, {"metadata": {"name": "b"}}]}
        cluster = service.view.cluster
        exchanges: list[tuple[str, str, str, Any]] = [
            ("post", "/filter", "/filter", {"Pod": pod, "NodeNames": ["a", "b"]}),
            ("post", "/filter", "/filter", {"Pod": pod, "Nodes": whole}),
            ("post", "/filter", "/filter", {"Pod": client.pods["big"], "NodeNames": ["a", "b"]}),
            ("post", "/filter", "/filter", {"Pod": client.pods["odd"], "NodeNames": ["a", "b"]}),
            ("post", "/prioritize", "/prioritize", {"Pod": pod, "NodeNames": ["a", "b", "new"]}),
            ("get", "/state", "/state", None),  # with a reservation in it
            ("post", "/bind", "/bind", binding),
            ("post", "/fit", "/fit", client.pods["big"]),
            ("post", "/fit", "/fit", pod),
            ("get", "/explain/{namespace}/{pod}", "/explain/default/p", None),
            ("get", "/decisions", "/decisions", None),  # one that was made
            ("get", "/power", "/power", None),
            ("get", "/openapi.json", "/openapi.json", None),
        ]
        service.power_errors = errors_by_model([Sample("a", uuid, 30.0) for uuid in "12"], cluster)
        assert len(service.power_errors) == 1
        for method, path, address, body in exchanges:
            status, answer = await front.ask(method.upper(), address, body)
            assert status == 200, (path, answer)
            assert faults(answer, answer_schema(method, path)) == [], path
        assert (await front.ask("GET", "/state"))[1]["nodes"] != []
        for method, path, address, status in (
            ("post", "/fit", "/fit", 400),
            ("get", "/explain/{namespace}/{pod}", "/explain/default/nobody", 404),
            ("get", "/shadow", "/shadow", 404),
        ):
            got, answer = await front.ask(method.upper(), address)
            assert got == status
            assert faults(answer, answer_schema(method, path, status)) == []

    ask(test)


def test_the_answer_of_shadow_mode_is_as_the_document_says() -> None:
    async def test(front: Front) -> None:
        front.client.add_pod("q", node="a", index="0")
        await relist(front.service)
        status, answer = await front.ask("GET", "/shadow")
        assert (status, answer["pods_placed_since_start"], len(answer["pods"])) == (200, 1, 1)
        assert faults(answer, answer_schema("get", "/shadow")) == []

    ask(test, mode="shadow")


async def relist(service: Service) -> None:
    await service.pods.relist()


@pytest.mark.parametrize("kind", [Pod, ExtenderArgs, BindingArgs])
def test_every_field_that_is_read_is_in_the_document(kind: type[msgspec.Struct]) -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(kind)}
    assert set(schema_of(kind.__name__)["properties"]) == fields


def test_an_answer_always_has_all_of_its_fields() -> None:
    for name in ("FilterAnswer", "BindAnswer", "HostPriority", "Decision", "State", "ShadowTable", "Power", "Wrong"):
        assert set(schema_of(name)["required"]) == set(schema_of(name)["properties"]), name


def test_every_reference_leads_to_a_schema_and_every_schema_is_referred_to() -> None:
    def references(part: Any) -> set[str]:
        if isinstance(part, list):
            return set().union(*map(references, part))
        if not isinstance(part, dict):
            return set()
        own = {part["$ref"].split("/")[-1]} if "$ref" in part else set()
        return own.union(*map(references, part.values()))

    assert references(OPENAPI) == set(OPENAPI["components"]["schemas"])


def test_the_checker_of_this_file_sees_what_is_wrong() -> None:
    assert faults({"error": "x", "more": 1}, schema_of("Wrong")) == ["/more: sent, and not in the document"]
    assert faults({}, schema_of("Wrong")) == [": no error"]
    assert faults({"error": 1}, schema_of("Wrong")) == ["/error: 1, expected ['string']"]
