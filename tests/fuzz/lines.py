"""Command lines: options with good and with odd values, outputs at odd places, words lost, doubled or unknown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from fuzz.case import Case, Entry, Folder, Link
from fuzz.documents import POLICIES
from fuzz.odd import NAMES, Strategy, odd_number, odd_text

# Options with a value; None: a flag.
Options = Mapping[str, Strategy[str] | None]

ENVIRONMENTS: tuple[dict[str, str], ...] = (
    *({}, {}, {}, {}, {}, {}, {}),
    *({"COLUMNS": "1"}, {"COLUMNS": "0"}, {"COLUMNS": "x"}, {"COLUMNS": "9" * 30}, {"LINES": "1"}, {"TERM": "dumb"}),
    *({"NO_COLOR": "1"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}),
)


@dataclass
class Building:
    """A case while it is being put together."""

    draw: Any
    faults: bool
    files: dict[str, Entry] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)

    def add(self, name: str, entry: Strategy[Entry | None]) -> str:
        found = self.draw(entry)
        if found is not None:
            self.files[name] = found
        return name

    def output(self, folder: bool = False) -> str:
        """Where to write: a new name, or in a faulty case an odd place. What is there as an input stays an input."""
        if not self.faults or self.draw(st.integers(0, 2)):
            return "results" if folder else "out.csv"
        inputs = [name for name in self.files if self.draw(st.booleans())] or ["nowhere"]
        kind = self.draw(st.sampled_from(PLACES))
        if kind == "input":
            return inputs[0]
        if kind == "below":
            return f"{inputs[0]}/out"
        if kind == "same":
            return f"./{inputs[0]}"
        if kind == "link to input":
            self.files["link"] = Link(inputs[0])
            return "link"
        if kind in ("link to null", "link to nowhere", "link to output", "loop"):
            self.files["link"] = Link(
                {"link to null": "/dev/null", "link to output": "old", "loop": "link"}.get(kind, "nowhere")
            )
            self.outputs += ["old"]
            self.files.setdefault("old", b"old\n")
            return "link"
        if kind == "file":
            self.files["old"] = b"old\n"
            self.outputs += [] if folder else ["old"]
            return "old"
        if kind == "folder":
            self.files["there"] = Folder()
            self.outputs += ["there"] if folder else []
            return "there"
        return kind


PLACES = (
    *(
        "input",
        "same",
        "below",
        "link to input",
        "link to null",
        "link to nowhere",
        "link to output",
        "loop",
        "file",
        "folder",
    ),
    *("missing/out", "missing/deep/out", "-", "/dev/null", "/dev/stdout", "/dev/full", *NAMES),
)


def policy() -> Strategy[str]:
    return st.sampled_from(POLICIES)


def odd_policy() -> Strategy[str]:
    """Expressions with a fault, and some that only look like it."""
    part = st.one_of(
        st.sampled_from(
            ("fgd", "PWR", "ocs", "ocs@0.5", "nosuch", "", " ", "ocs@", "ocs@x", "fgd@1", "pwr ", "ocs@9", "ocs@nan")
        ),
        odd_text(),
    )
    weight = st.one_of(st.just(""), odd_number().map(lambda text: f":{text}"), odd_text().map(lambda text: f":{text}"))
    joined = st.lists(st.builds(str.__add__, part, weight), max_size=3).map("+".join)
    return st.one_of(
        st.sampled_from(("fgd+fgd", "fgd:0", "fgd:-1", "fgd:1e3", "+", ":", "pwr:0.0001+fgd", "fgd:.5+pwr:5.")), joined
    )


def number(*good: str) -> Strategy[str]:
    return st.sampled_from(good)


@st.composite
def given_options(
    draw: Any, options: Options, faults: bool, odd: Mapping[str, Strategy[str]] | None = None
) -> list[str]:
    """Some of the options; in a faulty case one of them may have an odd value."""
    names = draw(st.lists(st.sampled_from(sorted(options)), max_size=3, unique=True)) if options else []
    wrong = draw(st.sampled_from(names)) if faults and names and draw(st.booleans()) else ""
    words: list[str] = []
    for name in names:
        value = options[name]
        if value is None:
            words.append(name)
            continue
        values = (odd or {}).get(name, st.one_of(odd_number(), odd_text())) if name == wrong else value
        words += [name, draw(values)]
    return words


def without_nul(words: Sequence[str]) -> tuple[str, ...]:
    """No process can be given a NUL or half of a surrogate pair; bytes that are no UTF-8 are \\udc80 to \\udcff."""
    return tuple("".join(c for c in word if c != "\0" and not "\ud800" <= c < "\udc80") for word in words)


@st.composite
def spoilt_words(draw: Any, words: list[str]) -> list[str]:
    """The command line with a word lost, doubled, swapped or added."""
    kind = draw(st.sampled_from(("none",) * 9 + ("lost", "twice", "swapped", "unknown", "more", "equals", "cut", "--")))
    at = draw(st.integers(1, max(len(words) - 1, 1)))
    if kind == "lost":
        return words[:at] + words[at + 1 :]
    if kind == "twice":
        return words[:at] + words[at : at + 2] + words[at:]
    if kind == "swapped":
        return words[:at] + words[at + 1 : at + 2] + words[at : at + 1] + words[at + 2 :]
    if kind == "unknown":
        return [
            *words[:at],
            draw(st.sampled_from(("--nosuch", "--nosuch=3", "-x", "--", "---", "--out", "-f", "-"))),
            *words[at:],
        ]
    if kind == "more":
        return [*words, draw(st.one_of(odd_text(), st.sampled_from(NAMES)))]
    if kind == "equals" and at + 1 < len(words):
        return [*words[:at], f"{words[at]}={words[at + 1]}", *words[at + 2 :]]
    if kind == "cut":  # of a long command only its last word: without options it takes the built-in datacenter
        return words[:-1] if words[:1] in (["compare"], ["tune"], ["bound"]) else words[:at]
    return [*words[:at], "--", *words[at:]] if kind == "--" else words


@st.composite
def finished(draw: Any, building: Building, words: list[str]) -> Case:
    """The case, with faults of the command line and an environment."""
    line = draw(spoilt_words(words)) if building.faults else words
    environment = draw(st.sampled_from(ENVIRONMENTS))
    full = building.faults and draw(st.integers(0, 15)) == 0
    return Case(without_nul(line), dict(building.files), tuple(building.outputs), environment, full)
