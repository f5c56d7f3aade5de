"""CITATION.cff is what readers of it need, and agrees with the package, with NOTICE and with the BibTeX of the docs."""

import re
from pathlib import Path
from typing import Any

import yaml

import wattpack

ROOT = Path(__file__).parents[1]
CFF: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
BIBTEX = re.findall(r"```bibtex\n(.*?)```", (ROOT / "docs" / "cite.md").read_text(encoding="utf-8"), flags=re.DOTALL)
NOTICE = " ".join((ROOT / "NOTICE").read_text(encoding="utf-8").split())


def test_it_has_the_keys_that_the_format_requires() -> None:
    assert CFF["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "type", "license", "references"} <= set(CFF)
    assert CFF["authors"] == [{"name": "wattpack contributors"}]
    for reference in CFF["references"]:
        assert {"type", "title", "authors", "year"} <= set(reference)


def test_its_version_and_that_of_the_bibtex_are_the_packages() -> None:
    assert CFF["version"] == wattpack.__version__
    assert f"version = {{{wattpack.__version__}}}" in BIBTEX[1]


def test_papers_and_authors_are_those_of_the_notice() -> None:
    assert len(CFF["references"]) == 2
    for paper in CFF["references"]:
        authors = ", ".join(f"{author['given-names']} {author['family-names']}" for author in paper["authors"])
        assert f'{authors}: "{paper["title"]}". {paper["collection-title"]}' in NOTICE


def test_the_bibtex_of_the_paper_is_that_of_the_citation_file() -> None:
    (paper, *_), text = CFF["references"], BIBTEX[0].replace("{GPU}", "GPU")
    authors = " and ".join(f"{author['family-names']}, {author['given-names']}" for author in paper["authors"])
    for value in (paper["title"], authors, paper["collection-title"], str(paper["year"])):
        assert f"{{{value}}}" in text


def test_the_bibtex_is_balanced() -> None:
    for entry in BIBTEX:
        assert re.match(r"@\w+\{\w+,\n", entry)
        assert entry.count("{") == entry.count("}")
