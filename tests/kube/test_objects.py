"""What is decoded of Kubernetes objects is what is used: a field nobody reads costs time and refuses for nothing."""

from __future__ import annotations

import ast
from pathlib import Path

import msgspec

import wattpack
from wattpack.kube import objects

SOURCES = Path(wattpack.__file__).parent


def attributes_read() -> set[str]:
    """Names of all attributes that kube/ and cli/ look at."""
    found = set()
    for folder in ("kube", "cli"):
        for file in (SOURCES / folder).rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            found |= {part.attr for part in ast.walk(tree) if isinstance(part, ast.Attribute)}
    return found


def test_every_field_that_is_decoded_is_read_somewhere() -> None:
    structs = [kind for kind in vars(objects).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    assert len(structs) > 20
    decoded = {field for kind in structs for field in kind.__struct_fields__}
    # `conditions`: whether a node is ready, for snapshot.py.
    assert decoded - attributes_read() <= {"conditions"}
