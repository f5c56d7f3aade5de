"""Random devices and random CEL selectors, many of which fail on some device."""

from __future__ import annotations

import random
from collections.abc import Callable

from e2e.api import Json

DRIVER, OTHER = "gpu.example.com", "pci.example.com"
MODELS = ("NVIDIA A100-SXM4-80GB", "NVIDIA L4", "Tesla T4", "")
VERSIONS = ("1.2.3", "1.10.0", "2.0.0-rc.1", "2.0.0", "0.9.0+build.7")
MEMORIES = ("16Gi", "40Gi", "80Gi", "85899345920", "1500m", "0")
A, B, C = f'device.attributes["{DRIVER}"]', f'device.attributes["{OTHER}"]', f'device.capacity["{DRIVER}"]'


def random_device(rng: random.Random, name: str) -> Json:
    attributes: Json = {
        "model": {"string": rng.choice(MODELS)},
        "index": {"int": rng.randrange(-2, 9)},
        "healthy": {"bool": rng.random() < 0.6},
        "firmware": {"version": rng.choice(VERSIONS)},
        f"{OTHER}/root": {"string": f"pci{rng.randrange(3)}"},
        f"{DRIVER}/slot": {"int": rng.randrange(4)},
    }
    capacity = {"memory": {"value": rng.choice(MEMORIES)}, f"{OTHER}/lanes": {"value": str(rng.choice((4, 8, 16)))}}
    device: Json = {
        "name": name,
        "attributes": {key: value for key, value in attributes.items() if rng.random() < 0.85},
        "capacity": {key: value for key, value in capacity.items() if rng.random() < 0.9},
    }
    return device | ({"allowMultipleAllocations": True} if rng.random() < 0.3 else {})


def _text(rng: random.Random) -> str:
    model = rng.choice(MODELS)
    return rng.choice(
        (
            f'{A}.model == "{model}"',
            f'{A}.model != "{model}"',
            f'{A}.model in ["{model}", "Tesla T4"]',
            f'{A}.model.startsWith("{model[:6]}")',
            f'{A}["model"].endsWith("4")',
            f'{A}.model.contains("A100") || {A}.model == "NVIDIA L4"',
            f'{A}.model.matches("^NVIDIA [AL][0-9]+")',
            f'{A}.model.matches("(")',
            f'{A}.model.lowerAscii() == "{model.lower()}"',
            f'{A}.model.split(" ")[0] == "NVIDIA"',
            f"size({A}.model) > 6",
            f"{A}.model > 3",
            f"{A}.model < {B}.root",
            f"{A}.model + 1 == 2",
            f'{B}.root == "pci1"',
            f'device.driver == "{DRIVER}"',
            f'device.driver.endsWith("{rng.choice((".com", ".org"))}")',
        )
    )


def _number(rng: random.Random) -> str:
    k = rng.randrange(-1, 9)
    return rng.choice(
        (
            f"{A}.index > {k}",
            f"{A}.index <= {k}",
            f"{A}.index == {k}.0",
            f'{A}.index == "{k}"',
            f"{A}.index in [1, 2, {k}]",
            f"{A}.index % 2 == 0",
            f"12 / {A}.index > 2",
            f"{A}.index * 2 - 1 >= {A}.slot",
            f"{A}.index + 9223372036854775807 > 0",
            f"-{A}.index < {k}",
            f"{A}.index < {k}.5",
            f"double({A}.index) / 2.0 > 1.0",
            f'string({A}.slot) == "{abs(k) % 4}"',
            f"{A}.index.exists(x, x > 1)",
            f"{A}.index == null",
            f"({A}.index > {k} ? {A}.slot : {A}.index) < 3",
        )
    )


def _quantity(rng: random.Random) -> str:
    amount = rng.choice((*MEMORIES, "20G", "-1", "x"))
    return rng.choice(
        (
            f'{C}.memory.compareTo(quantity("{amount}")) >= 0',
            f'{C}.memory.isGreaterThan(quantity("{amount}"))',
            f'{C}["memory"].isLessThan(quantity("{amount}"))',
            f'{C}.memory == quantity("{amount}")',
            f"{C}.memory.asInteger() > 40000000000",
            f"{C}.memory.isInteger()",
            f"sign({C}.memory) == 1",
            f'{C}.memory.add(quantity("1Gi")).sub(1024).isGreaterThan(quantity("17Gi"))',
            f"{C}.memory.asApproximateFloat() > 1.2",
            f'device.capacity["{OTHER}"].lanes.compareTo(quantity("8")) == 0',
            f'isQuantity("{amount}")',
            f'{A}.index.compareTo(quantity("{amount}")) == 0',
        )
    )


def _version(rng: random.Random) -> str:
    version = rng.choice((*VERSIONS, "1.2"))
    return rng.choice(
        (
            f'{A}.firmware.compareTo(semver("{version}")) >= 0',
            f'{A}.firmware.isGreaterThan(semver("{version}"))',
            f'{A}.firmware.isLessThan(semver("{version}"))',
            f'{A}.firmware == semver("{version}")',
            f"{A}.firmware.major() == 1 && {A}.firmware.minor() > 1",
            f"{A}.firmware.patch() == 3",
            f'{A}.firmware == "{version}"',
            f'{A}.firmware.compareTo(quantity("1")) == 0',
            f'isSemver("{version}")',
            'semver("v01.2", true) == semver("1.2.0")',
            f"{A}.model.major() == 1",
        )
    )


def _map(rng: random.Random) -> str:
    name = rng.choice(("model", "index", "healthy", "nothing"))
    domain = rng.choice((DRIVER, OTHER, "no.such.domain"))
    return rng.choice(
        (
            f"{A}.healthy",
            f"!{A}.healthy",
            f"{A}.healthy == true",
            f"{A}.healthy == 1",
            f"has({A}.{name})",
            f'"{name}" in {A}',
            f'"{domain}" in device.attributes',
            f'device.attributes["{domain}"].{name} == 1',
            f'has(device.attributes["{domain}"].{name})',
            f'"{domain}" in device.attributes && device.attributes["{domain}"].index > 0',
            f'{A}.exists(k, k == "{name}")',
            f"{A}.all(k, size(k) > 4)",
            f"size({A}) > 3",
            "device.attributes.size() == 2",
            f"{A}.?{name}.orValue(true) == true",
            f"cel.bind(own, {A}, own.index > 1 && own.healthy)",
            "device.allowMultipleAllocations",
            f'device.capacity["{domain}"].memory.isInteger()',
            "[1, 2, 3].exists_one(x, x == 2)",
            f"[1, 2].map(x, x * 2).filter(x, x > 2).size() == 1 && {A}.healthy",
        )
    )


def _wrong(rng: random.Random) -> str:
    """Text that the API server refuses."""
    return rng.choice(
        (
            'device.drivr == "x"',
            "1 + 1",
            f"{C}.memory > 3",
            f"{A}.index >",
            f"nothing({A}.index)",
            '"text" && true',
            f"{C}.memory == 3",
            "device.driver == 1",
            f'{A}.healthy || "yes"',
            f'{C}.memory.compareTo(semver("1.0.0")) == 0',
        )
    )


ATOMS: tuple[Callable[[random.Random], str], ...] = (_text, _number, _quantity, _version, _map)


def random_selector(rng: random.Random, depth: int = 2) -> str:
    if depth == 2 and rng.random() < 0.06:
        return _wrong(rng)
    if depth == 0 or rng.random() < 0.35:
        return rng.choice(ATOMS)(rng)
    one, other = random_selector(rng, depth - 1), random_selector(rng, depth - 1)
    return rng.choice((f"({one}) && ({other})", f"({one}) || ({other})", f"!({one})", f"({one}) ? ({other}) : true"))
