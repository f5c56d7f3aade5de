"""Reads an experiment file: TOML or JSON whose lists are axes.

    policy = ["fgd", "pwr:0.1+fgd:0.9"]     # needed; the rest has defaults
    trace = ["default", "my-tasks.csv"]     # built-in names, or files beside this one
    seeds = 10                              # a count, or a list of seeds
    against = "fgd"                         # the policy that savings are against (the default); named, it is run too

Several blocks `[[experiment]]` are several such products; keys above them hold for every block that does not set its
own. The reader is strict, and reports all problems at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from wattpack.datasets import alibaba2023
from wattpack.errors import UserError
from wattpack.experiments.spec.axes import (
    DEFAULT_SEEDS,
    MAX_RUNS,
    MAX_SEED,
    MAX_SEEDS,
    Block,
    Experiment,
    first_seeds,
)
from wattpack.experiments.spec.chosen import chosen_against
from wattpack.experiments.spec.document import read_document
from wattpack.experiments.spec.named_inputs import NamedInputs
from wattpack.experiments.spec.sections import NUMBERS, TABLES, TIMED_KEYS, read_batches, read_movings, read_steady
from wattpack.experiments.timed_fields import FIELDS, timed_of
from wattpack.experiments.timed_options import QUEUE, Timed
from wattpack.model.power import PAPER
from wattpack.policies.expression import canonical

MAX_VALUES = MAX_SEEDS  # of one axis: a list of seeds is held to what a count may be
AXES = ("datacenter", "trace", "policy", "seeds", "profile", "power", *NUMBERS, *TIMED_KEYS)


def load_experiment(path: str | Path) -> Experiment:
    """The experiment of a file. One `UserError` reports all its problems: `file: place: problem; ...`."""
    file = Path(path)
    document = read_document(file)
    reader = _Reader(file.parent)
    experiment = reader.experiment(document, file.stem)
    if reader.problems:
        raise UserError(f"{file}: {'; '.join(reader.problems)}")
    return experiment


class _Reader:
    """Turns a document into blocks and reads the files they name; collects problems with their place."""

    def __init__(self, folder: Path) -> None:
        self.problems: list[str] = []
        self.inputs = NamedInputs(folder, self.problem)
        self.listed: set[str] = set()  # lists of known names that a problem has shown already
        self.spelled: dict[tuple[str, str], str] = {}  # (place, key) -> the place as the user wrote it

    def problem(self, place: str, text: object) -> None:
        what, semicolon, known = str(text).partition("; known")
        if semicolon and known in self.listed:  # the same list of names for every misspelt one is hard to read
            text = what
        self.listed.add(known)
        self.problems.append(f"{place}: {text}")

    def experiment(self, document: dict[str, Any], stem: str) -> Experiment:
        document = self.flat(document, "")
        self.known_keys(document, "", ("name", "against", "experiment", *AXES))
        name = document.get("name", stem)
        if not isinstance(name, str) or name == "":
            self.problem("name", f"{name!r}, expected a text")
        tables = document.get("experiment")
        shared = {key: value for key, value in document.items() if key in AXES}
        if tables is None:
            blocks = [self.block(shared, {axis: self.spelling("", axis) for axis in AXES})]
        elif not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
            self.problem("experiment", "expected one or more blocks [[experiment]]")
            blocks = []
        else:
            blocks = [self.table(table, shared, f"experiment[{number}].") for number, table in enumerate(tables, 1)]
        against = self.against(document)
        if against is not None:  # they are run too, on everything
            blocks = [replace(block, policies=tuple(dict.fromkeys((*block.policies, *against)))) for block in blocks]
        runs = sum(len(block) for block in blocks)
        if runs > MAX_RUNS:
            self.problem("experiment", f"{runs:,} runs, expected at most {MAX_RUNS:,}")
        if against is None:
            run = {policy for block in blocks for policy in block.policies}
            own = chosen_against(None, [name for block in blocks for name in block.datacenters])
            against = tuple(policy for policy in own if policy in run) or own
        files = tuple(self.inputs.power_files)
        return Experiment(str(name), tuple(blocks), self.inputs.loaded(), files, against)

    def against(self, document: dict[str, Any]) -> tuple[str, ...] | None:
        """The policies that savings are against; None where the file says nothing."""
        if "against" not in document:
            return None
        return tuple(self.policies(document["against"], "against")) or None

    def table(self, table: dict[str, Any], shared: dict[str, Any], place: str) -> Block:
        table = self.flat(table, place)
        self.known_keys(table, place, AXES)
        at = {axis: self.spelling(place if axis in table else "", axis) for axis in AXES}
        return self.block({**shared, **table}, at)

    def flat(self, table: dict[str, Any], place: str) -> dict[str, Any]:
        """The table with its `[batch]`, `[defrag]` and `[timed]` as plain keys; `spelling` remembers how they were."""
        found: dict[str, Any] = {}
        for key, value in table.items():
            if key == "timed" and value == {}:  # runs in time with nothing but defaults
                value = {"queue": QUEUE}
            if key not in TABLES or not isinstance(value, dict):
                inside = {key: (key, value)}
            else:
                inside = {TABLES[key].get(name, f"{key}.{name}"): (f"{key}.{name}", one) for name, one in value.items()}
            for flat_key, (spelled, one) in inside.items():
                if flat_key in found:
                    self.problem(f"{place}{spelled}", f"{flat_key} is there too, expected one of them")
                found[flat_key] = one
                self.spelled[place, flat_key] = f"{place}{spelled}"
        return found

    def spelling(self, place: str, key: str) -> str:
        """The place of a key, as the user wrote it."""
        return self.spelled.get((place, key), f"{place}{key}")

    def known_keys(self, table: dict[str, Any], place: str, known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                self.problem(f"{place}{key}", f"unknown key, expected {', '.join(known)}")

    def block(self, table: dict[str, Any], at: dict[str, str]) -> Block:
        """A block; `at[axis]` is the place where the axis was set."""
        if "policy" not in table:
            self.problem("policy", "missing, expected one or more policy expressions")

        def combine(keys: Iterable[str]) -> Iterable[tuple[Any, ...]]:
            return self.combinations(table, at, list(keys))

        profiles = self.profiles(table, at)
        self.inputs.watts = self.inputs.profiles.get(profiles[0], PAPER) if profiles else PAPER
        timed = self.timed(table, at)
        self.inputs.with_times = bool(timed)
        block = Block(
            tuple(self.policies(table.get("policy", []), at["policy"])),
            self.names(table.get("trace", "default"), at["trace"], self.inputs.trace),
            self.names(table.get("datacenter", alibaba2023.NAME), at["datacenter"], self.inputs.datacenter),
            self.seeds(table.get("seeds", DEFAULT_SEEDS), at["seeds"]),
            profiles,
            # with runs in time, fill-ups are run where they are asked for
            self.numbers(table, at, "up_to") if not timed or "up_to" in table else (),
            read_batches(combine),
            read_steady(combine) if "steady" in table else (),
            read_movings(combine),
            timed,
        )
        self.inputs.check_models(block, at["profile"])
        self.inputs.signals_of(block.timed, "timed")
        for axis, number in NUMBERS.items():
            if axis in table and number.needs and number.needs not in table:
                self.problem(at[axis], f"without {number.needs}, expected that too")
        if "batch_seconds" in table and "steady" not in table:
            self.problem(at["batch_seconds"], "a fill-up has no time, expected steady loads too")
        return block

    def timed(self, table: dict[str, Any], at: dict[str, str]) -> tuple[Timed, ...]:
        """Every combination of the values of `[timed]`; a wrong value is a problem of its own."""
        given = {key: table[f"timed.{key}"] for key in FIELDS if f"timed.{key}" in table}
        axes: list[list[object]] = []
        for key, value in given.items():
            place, axis = at[f"timed.{key}"], []
            for where, one in self.values(value, place, (str, int, float, bool), "a text or a number", flags=True):
                try:
                    FIELDS[key][1](one, key)
                    axis.append(one)
                except UserError as fault:
                    self.problem(where, fault)
            axes.append(axis)
        if not given or not all(axes):
            return ()
        if (count := prod(map(len, axes))) > MAX_RUNS:
            self.problem("timed", f"{count:,} combinations, expected at most {MAX_RUNS:,}")
            return ()
        try:
            return tuple(timed_of(dict(zip(given, values, strict=True))) for values in product(*axes))
        except UserError as fault:
            self.problem("timed", fault)
            return ()

    def combinations(self, table: dict[str, Any], at: dict[str, str], keys: list[str]) -> Iterable[tuple[Any, ...]]:
        """Every combination of the values of these keys; counted first, because they become objects."""
        axes = [self.numbers(table, at, key) for key in keys]
        if (count := prod(map(len, axes))) > MAX_RUNS:
            self.problem(at[keys[0]], f"{count:,} combinations of {', '.join(keys)}, expected at most {MAX_RUNS:,}")
            return ()
        return product(*axes)

    def values(
        self, value: object, place: str, kind: type | tuple[type, ...], what: str, flags: bool = False
    ) -> Iterable[tuple[str, Any]]:
        """The values of an axis with their places: those of the list, or the one value; wrong ones are problems."""
        several = isinstance(value, list)
        found = value if isinstance(value, list) else [value]
        if several and not found:
            self.problem(place, f"an empty list, expected {what}")
        if len(found) > MAX_VALUES:
            self.problem(place, f"{len(found):,} values, expected at most {MAX_VALUES:,}")
            return
        seen: set[object] = set()
        for number, one in enumerate(found, 1):
            where = f"{place}[{number}]" if several else place
            if not isinstance(one, kind) or (isinstance(one, bool) and not flags):
                self.problem(where, f"{_short(repr(one))}, expected {what}")
            elif one in seen:
                self.problem(where, f"{_short(repr(one))} again, expected it once")
            else:
                seen.add(one)
                yield where, one

    def names(self, value: object, place: str, check: Any) -> tuple[str, ...]:
        found = []
        for where, name in self.values(value, place, str, "a name"):
            check(where, name)
            found.append(name)
        return tuple(found)

    def profiles(self, table: dict[str, Any], at: dict[str, str]) -> tuple[str, ...]:
        """The profiles by name; with a power file, the file over each of them, or over the one that it names."""
        power = table.get("power")
        if power is None:
            return self.names(table.get("profile", PAPER.name), at["profile"], self.inputs.profile)
        if not isinstance(power, str) or power == "":
            self.problem(at["power"], f"{_short(repr(power))}, expected the path of a power file")
            return ()
        if "profile" not in table:
            label = self.inputs.power_file(at["power"], power, None)
            return (label,) if label is not None else ()
        wanted = self.values(table["profile"], at["profile"], str, "a name")
        labels = [self.inputs.power_file(where, power, name) for where, name in wanted]
        return tuple(label for label in labels if label is not None)

    def policies(self, value: object, place: str) -> Iterable[str]:
        seen: dict[str, str] = {}
        for where, text in self.values(value, place, str, "a policy expression"):
            try:
                expression = canonical(text)
            except UserError as fault:
                self.problem(where, fault)
                continue
            if expression in seen:
                self.problem(where, f"{text!r} is {seen[expression]!r} again, expected it once")
            else:
                seen[expression] = text
                yield expression

    def seeds(self, value: object, place: str) -> tuple[int, ...]:
        if not isinstance(value, list):
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_SEEDS:
                self.problem(place, f"{_short(repr(value))}, expected a count from 1 to {MAX_SEEDS} or a list of seeds")
                return ()
            return first_seeds(value)
        found = []
        for where, seed in self.values(value, place, int, "a seed: a whole number from 0"):
            if not 0 <= seed <= MAX_SEED:
                self.problem(where, f"{_short(str(seed))}, expected 0 to {MAX_SEED}")
            found.append(seed)
        return tuple(found)

    def numbers(self, table: dict[str, Any], at: dict[str, str], axis: str) -> tuple[Any, ...]:
        wanted, found = NUMBERS[axis], []
        for where, number in self.values(table.get(axis, wanted.default), at[axis], wanted.kind, wanted.what):
            if not wanted.good(number):
                self.problem(where, f"{_short(str(number))}, expected {wanted.expected}")
                continue  # 10**400 is no float
            found.append(number if wanted.kind is int else float(number))
        return tuple(found)


def _short(text: str) -> str:
    """A value as a line can hold it."""
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text):,} characters)"
