"""What every command promises, whatever it is given: the judge of the fuzz tests."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

from fuzz.case import Case, Entry, Folder, Link
from fuzz.run import Result, Runner
from wattpack.cli import OUTPUTS

CODES = (0, 1, 2)  # done; a run failed; the input is wrong
ERROR = "wattpack: "  # how the one line of an error begins

# Lines on stderr that are no error. Whole lines: a name that breaks its line breaks the rule.
NOTES = tuple(
    re.compile(text)
    for text in (
        r"compiling kernels for this machine .*",
        r"(.*: )?can never fit any node: .*",
        r"power: .* over the profile [a-z]+: .*",  # what a power file changes
        r"wrote    .*",  # a template, beside data on standard output
        r".*: the bound is skipped, it would take minutes \(--bound forces it\)",
        r"\d+ runs done in [0-9.]+ s(, \d+ were there)?(, \d+ failed)?",
        r"failed: .*",  # a run that failed, before the error
        r"(left out: |pod ).*",  # nodes and pods of a cluster that cannot be read
        r"wattpack: .*, (run|made|compiled) again",  # a damaged file of ours
        r"\d+ pods? holds? accelerators that could not be counted: .*; these nodes take no tasks with GPUs",
        r"\d+ (node takes|nodes take) no new task( with GPUs)?: .*",  # closed nodes of an import
        r"\d+ tasks? stays? \(held, or on nodes that take no new ones\); the policy places the others",
        r"\d+ tasks? waits? for a node and (is|are) left out \(--pending: the policy places them too\)",
        r".*: read as .*",  # a signal: its shape, and what was assumed of it
        r".*: \d[0-9,]* time stamps without a time zone taken as UTC",
        r".*: the file does not say whether its intensities are average or marginal",
        r".*: taken as average intensities in g CO2e per kWh",
        r".*: the tasks have no clock time; the run begins at its first time stamp, .*",
        r".*: carbon intensity of electricity, life-cycle, \d{4}: .*",  # the source of a country's
        r".*: backfill lets .* wait more than 10 times as long as fifo would .*",
        r".*: \d[0-9,]* tasks? still (waiting, and nothing is left|running without an end).*",
        r".*: no task asks for a GPU, so the load stays 0 and there is nothing to compare",
        r"tasks on .* stay on their model: no speed is known of it \(--allow-slower moves them\)",
        r"(1 task fits|\d+ tasks fit) nowhere: pool_spec .*, and no node is in it",
        r"\d{4}-\d\d-\d\d [0-9:,]+ (INFO|WARNING|ERROR) .*",  # the log of `serve`
    )
)
# As an output: the data go to stdout, and what is printed for people to stderr.
STANDARD_OUTPUT = re.compile(r"(--[a-z-]+=)?(-|/dev/stdout)")
WORK = "work"  # the folder of the case, below the one that is looked at


def check(runner: Runner, case: Case, in_own_process: bool = False) -> None:
    """Run the case; a broken promise is an AssertionError that tells all of it."""
    result = runner.run(case, in_own_process)
    found = broken_promises(case, result)
    assert not found, told(case, result, found)


def broken_promises(case: Case, result: Result) -> list[str]:
    """What is wrong, a line each; empty if the command has kept its word."""
    if result.timed_out:
        return ["it does not end"]
    if result.code < 0:
        return [f"killed by signal {-result.code}: {result.err[-2000:]}"]
    found = [f"exit code {result.code}, expected one of {CODES}"] if result.code not in CODES else []
    if "Traceback" in result.err + result.out:
        found.append("a traceback")
    lines = [line for line in result.err.split("\n") if line and not any(note.fullmatch(line) for note in NOTES)]
    errors = [line for line in lines if line.startswith(ERROR)]
    if len(errors) < len(lines) and not any(STANDARD_OUTPUT.fullmatch(word) for word in case.words):
        found.append("a line on stderr that is neither an error nor a known note")
    if len(errors) > 1:
        found.append(f"{len(errors)} lines of error, expected one")
    if result.code == 0 and errors:
        found.append("an error, and exit code 0")
    if result.code == 2 and not errors:
        found.append("exit code 2 without an error")
    if any("\x1b" in text for text in (result.err, result.out)):
        found.append("colours or other control sequences, and no terminal")
    return found + changed_files(case, result)


def changed_files(case: Case, result: Result) -> list[str]:
    before, after = result.before, result.after
    found = [
        f"input {name} is not as it was" for name in before if after.get(name) != before[name] and is_input(case, name)
    ]
    found += [f"temporary file {name} is left" for name in after if name not in before and name.endswith(".tmp")]
    if result.code == 2 and after != before:
        changed = sorted({name for name in {*before, *after} if before.get(name) != after.get(name)})
        found.append(f"exit code 2, and written: {', '.join(map(repr, changed))}")
    return found


def is_input(case: Case, name: str) -> bool:
    inside = name.removeprefix(f"{WORK}/")
    if inside in outputs_of(case.words, case.files) and not is_named(case.words, inside):
        return False  # laid out for an option that this line has lost: it is there like any other old file
    return not any(inside == output or inside.startswith(f"{output}/") for output in case.outputs)


def outputs_of(words: Sequence[str], files: Mapping[str, Entry]) -> set[str]:
    """The files that are written to by this line, a link as what it leads to."""
    pairs = [(word, words[place + 1]) for place, word in enumerate(words[:-1])]
    pairs += [(option, value) for option, equals, value in (word.partition("=") for word in words) if equals]
    named = [posixpath.normpath(value) for option, value in pairs if option in OUTPUTS]
    found = {name: files.get(name) for name in named}
    return {entry.target if isinstance(entry, Link) else name for name, entry in found.items()}


def is_named(words: Sequence[str], name: str) -> bool:
    """Whether a word that is no output has this file in it, as in `--carbon FILE:ZONE` and `"FILE --add T4-1"`."""
    plain = [
        word
        for place, word in enumerate(words)
        if word.partition("=")[0] not in OUTPUTS and (place == 0 or words[place - 1] not in OUTPUTS)
    ]
    return any(posixpath.normpath(part) == name for word in plain for part in re.split("[=: ]", word) if part)


def told(case: Case, result: Result, found: list[str]) -> str:
    """A failure for a person: what is wrong, the command, its files, what it said."""
    lines = ["; ".join(found), f"words       {list(case.words)}", f"environment {dict(case.environment)}"]
    lines += ["stdout is full"] if case.full else []
    lines += [f"file        {name}: {shown(entry)}" for name, entry in case.files.items()]
    lines += [f"exit code   {result.code}", f"stderr      {result.err[-3000:]}", f"stdout      {result.out[-300:]}"]
    return "\n".join(lines)


def shown(entry: Entry) -> str:
    if isinstance(entry, Folder | Link):
        return repr(entry)
    return repr(entry) if len(entry) < 3000 else f"{entry[:1500]!r} ... {len(entry)} bytes"
