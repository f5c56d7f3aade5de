"""A number and what it counts, for messages: 1 node, 2 nodes."""

from __future__ import annotations


def counted(number: float, what: str, form: str = "") -> str:
    """`form`: the format of the number, like `,` or `g`. Only what is exactly one is singular: 1 GPU, 0.5 GPUs."""
    return f"{number:{form}} {what}{'' if number == 1 else 's'}"
