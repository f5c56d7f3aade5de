"""Odd things that any file or option may hold: cells, numbers, bytes, and files that are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from fuzz.case import Entry, Folder, Link

Strategy = st.SearchStrategy

# Texts where a name, an amount or a list of models is expected. Not all are wrong everywhere.
TEXTS = (
    *(
        "",
        " ",
        "x",
        "0",
        "-1",
        "-0",
        "+5",
        "1.5",
        "12.0",
        "1e3",
        "1e400",
        "1e-400",
        "nan",
        "NaN",
        "inf",
        "-inf",
        "None",
    ),
    *("9" * 30, "9" * 5000, "1" + "0" * 12, "1" + "0" * 13, str(2**31), str(2**63), str(2**64), "0x10", "1_000", "1,5"),
    *("\uff11\uff12", "\u0663", "\u00fc", "\U0001d518", "\u202eabc", "e\u0301", "\u200b", "\ufeff", "\u2028", "\x85"),
    *(
        "[red]x[/red]",
        "[/x]",
        "[bold",
        "%s",
        "{}",
        "{0}",
        "$(x)",
        "`x`",
        "\\",
        "\t",
        "a\nb",
        "a\r\nb",
        "a,b",
        '"',
        "'",
        ";",
    ),
    *("|", "T4|", "|T4", "T4|G2", "T4|T4", "T4 | G2", "|".join(f"M{i}" for i in range(100)), "=1+1", "-", "--", "#"),
    *("true", "null", "2020-01-01", "x" * 300, "x" * 200_000, "../x", "/", "a/b", "~", "*", "\x01", "\x7f"),
)
NUMBERS = (
    *("0", "1", "2", "-1", "2.9", "1.0", "nan", "inf", "-inf", "1e400", "1e-400", "9" * 30, "9" * 5000, "", "x", "1,2"),
    *(
        "\u0663",
        "0x1",
        "1_000",
        "1e308",
        "1e-300",
        "-0.0",
        str(2**31),
        str(2**32),
        str(2**63),
        str(2**64),
        " 1",
        "None",
    ),
)
# Names that words of the command line may hold and files may have: also bytes that are no UTF-8, as Python reads them.
NAMES = (
    "\u00fc",
    "\udcff",
    "a b",
    "a\nb",
    "[/x]",
    "-x",
    "--out",
    "x" * 250,
    "x" * 300,
    "%s",
    "'",
    '"',
    "$x",
    ".",
    "..",
    "",
)


def odd_text() -> Strategy[str]:
    return st.one_of(
        st.sampled_from(TEXTS),
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x1b"), max_size=8),
    )


def odd_number() -> Strategy[str]:
    return st.one_of(st.sampled_from(NUMBERS), st.integers(-(10**20), 10**3).map(str), st.floats().map(str))


# ---- bytes -----------------------------------------------------------------------------------------------------------

Spoil = Callable[[bytes, int], bytes]  # the text and a place in it
SPOILS: tuple[Spoil, ...] = (
    lambda text, at: text[:at],
    lambda text, at: text[:at] + b"\x00" + text[at:],
    lambda text, at: text[:at] + b"\xff" + text[at:],
    lambda text, at: text[:at] + b"\xed\xa0\x80" + text[at:],  # half of a surrogate pair
    lambda text, at: text[:at] + b'"' + text[at:],
    lambda text, at: text[:at] + b"\r" + text[at:],
    lambda text, at: text[:at] + b"\xef\xbb\xbf" + text[at:],
    lambda text, at: b"\xef\xbb\xbf" + text,
    lambda text, at: text.replace(b"\n", b"\r\n"),
    lambda text, at: text.replace(b"\n", b"\r"),
    lambda text, at: text.decode("utf-8", "replace").encode("utf-16"),
    lambda text, at: text.decode("utf-8", "replace").encode("latin-1", "replace"),
    lambda text, at: text + text,
    lambda text, at: text.partition(b"\n")[0] + b"\n",
    lambda text, at: b"",
    lambda text, at: b"\n" * 10 + text,
    lambda text, at: text[at:],
    lambda text, at: text[:at] + b"x" * 200_000 + text[at:],
    lambda text, at: b"PAR1" + text + b"PAR1",
    lambda text, at: text[:at] + b"[" * 20_000 + text[at:],
)


@st.composite
def spoilt(draw: Any, text: bytes) -> bytes:
    """The bytes with one fault, at some place."""
    spoil = draw(st.sampled_from(SPOILS))
    return spoil(text, draw(st.integers(0, len(text))))


@st.composite
def entry(draw: Any, text: bytes, faulty: bool) -> Entry | None:
    """A file with this text; in a faulty case perhaps a spoilt one, another thing than a file, or None: not there."""
    kind = draw(st.sampled_from(("file", "file", "file", "file", "spoilt", "spoilt", "folder", "link", "lost", "loop")))
    if not faulty or kind == "file":
        return text
    if kind == "spoilt":
        return draw(spoilt(text))
    others = {"folder": Folder(), "link": Link("nowhere"), "loop": Link("loop"), "lost": None}
    return others[kind]
