"""The documentation as a whole: every page is reachable from its index, and no link, path or option is stale."""

from __future__ import annotations

import importlib
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

from wattpack.cli import COMMANDS

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src" / "wattpack"
INDEX = ROOT / "docs" / "README.md"
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md"), *ROOT.glob(".github/*.md")]
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")
OF_OTHER_PROGRAMS = {"--create-namespace", "--kustomize", "--namespace", "--parsable2", "--reset-then-reuse-values"} | {
    *("--from-literal", "--install", "--set"),
    "--tag",
}
# Given without the option, or as -f FILE.
WITHOUT_A_NAME = {"--experiment", "--format", "--name", "--node", "--pod", "--url"}


def prose(page: Path) -> str:
    """The page without code blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def links(page: Path) -> list[tuple[Path, str]]:
    """File and anchor of each link of the page that stays in the repository."""
    found = []
    for link in LINK.findall(re.sub(r"`[^`\n]*`", "code", prose(page))):
        if "://" not in link and not link.startswith("mailto:"):
            name, _, anchor = link.partition("#")
            found.append(((page.parent / name).resolve() if name else page, anchor))
    return found


def anchors(page: Path) -> set[str]:
    """Anchors as GitHub makes them of headings: lower case, no punctuation, hyphens, a number where one repeats."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", prose(page), flags=re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return found


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_every_page_of_the_docs_is_reachable_from_the_index() -> None:
    seen, waiting = {INDEX}, [INDEX]
    while waiting:
        for target, _ in links(waiting.pop()):
            if target.suffix == ".md" and target.is_file() and target not in seen:
                seen.add(target)
                waiting.append(target)
    assert [relative(page) for page in ROOT.glob("docs/**/*.md") if page not in seen] == []


def test_the_readme_links_the_index() -> None:
    assert INDEX in [target for target, _ in links(ROOT / "README.md")]


@pytest.mark.parametrize("page", PAGES, ids=relative)
def test_no_link_is_broken(page: Path) -> None:
    broken = [relative(target) for target, _ in links(page) if not target.exists()]
    broken += [
        f"{relative(target)}#{anchor}"
        for target, anchor in links(page)
        if anchor and target.suffix == ".md" and target.is_file() and anchor not in anchors(target)
    ]
    assert broken == []


@pytest.mark.parametrize(
    "folder", ["src/wattpack", "tests", "benchmarks", "tools", "deploy", "docs"], ids=lambda name: name
)
def test_every_page_that_a_file_names_by_its_path_exists(folder: str) -> None:
    """Paths like docs/guide/ocs.md in docstrings, comments and texts."""
    files = [path for kind in ("py", "md", "toml", "yaml", "sh") for path in (ROOT / folder).rglob(f"*.{kind}")]
    named = {
        (relative(path), name)
        for path in files
        for name in re.findall(r"\bdocs/[\w/.-]+?\.md\b", path.read_text(encoding="utf-8"))
    }
    assert [f"{path}: {name}" for path, name in sorted(named) if not (ROOT / name).is_file()] == []


def test_every_file_of_the_sources_that_a_page_names_exists() -> None:
    """Names in backticks with a folder and the ending .py, .toml or .js; a page may leave out src/wattpack."""
    tops = [ROOT, ROOT / "src", SOURCES]
    missing = [
        f"{relative(page)}: {name}"
        for page in PAGES
        if page.name != "CHANGELOG.md"
        for name in re.findall(r"`(?:src/)?([a-z_]\w*(?:/[\w.]+)+\.(?:py|toml|js))`", page.read_text(encoding="utf-8"))
        if "NAME" not in name and not any((top / name).is_file() for top in tops)
    ]
    assert missing == []


def test_every_hop_of_a_walk_is_a_function_or_class_of_the_file_it_names() -> None:
    hops = re.findall(r"`([\w/]+\.py)` ((?:`\w+`(?:, )?)+)", (ROOT / "docs" / "walks.md").read_text(encoding="utf-8"))
    assert len(hops) > 20
    gone = [
        f"{file}: {name}"
        for file, names in hops
        for name in re.findall(r"`(\w+)`", names)
        if not re.search(
            rf"^ *(?:async )?(?:def|class) {name}\b", (SOURCES / file).read_text(encoding="utf-8"), re.MULTILINE
        )
    ]
    assert gone == []


def options_of(command: str) -> set[str]:
    module, _, function = COMMANDS[command][0].partition(":")
    names = inspect.signature(getattr(importlib.import_module(module), function)).parameters
    return {f"--{name.replace('_', '-')}" for name in names}


def test_every_command_and_every_option_is_in_a_guide_and_no_guide_names_another() -> None:
    guides = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "guide").glob("*.md"))
    told, real = set(OPTION.findall(guides)), {option for command in COMMANDS for option in options_of(command)}
    assert sorted(real - told - WITHOUT_A_NAME) == []
    assert sorted(told - real - {"--no-bound"} - OF_OTHER_PROGRAMS) == []
    assert [command for command in COMMANDS if f"wattpack {command}" not in guides] == []


def test_every_decision_asks_a_question_and_says_what_would_change_the_choice() -> None:
    texts = {page.name: page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "decisions").glob("*.md")}
    parts = ("**Question.**", "**Choice.**", "**What would change it.**")
    assert [(name, part) for name, text in sorted(texts.items()) for part in parts if part not in text] == []
