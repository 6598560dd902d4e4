"""The map, and the words that a search knows."""

import json
import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
sys.path.append(str(BOOK / "_ext"))

from onestep_book import search  # noqa: E402


def test_the_map_says_of_every_chapter_what_its_metadata_say():
    rows = re.findall(
        r"^\| (\d+) \| \[.+\]\((.+)\.ipynb\) \| (\d+), (\d+) \| (.*) \|$",
        (BOOK / "map.md").read_text("utf-8"),
        re.MULTILINE,
    )
    for number, (path, row) in enumerate(zip(sorted(BOOK.glob("[0-9][0-9]-*.ipynb")), rows, strict=True), 1):
        said = json.loads(path.read_text("utf-8"))["metadata"]["onestep"]
        minutes = said["minutes"]
        assert row[:4] == (str(number), path.stem, str(minutes["short"]), str(minutes["whole"]))
        needs = [int(need[:2]) for need in said.get("needs", ())]
        assert [int(need) for need in re.findall(r"\d+", row[4])] == sorted(needs)
        assert all(need < number for need in needs)


def test_words_of_the_search_belong_to_one_page_each_and_terms_of_a_chapter_join_them(tmp_path):
    words = yaml.safe_load((BOOK / "keywords.yml").read_text("utf-8"))
    listed = [word.lower() for page in words for word in words[page]]
    assert len(listed) == len(set(listed))
    for page in words:
        assert (ROOT / f"{page}.ipynb").is_file() or (ROOT / f"{page}.md").is_file()
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "keywords.yml").write_text("book/01-a: [one, two]\n", "utf-8")
    notebook = {"cells": [], "metadata": {"onestep": {"terms": ["two", "three"]}}}
    (tmp_path / "book" / "01-a.ipynb").write_text(json.dumps(notebook), "utf-8")
    assert search.keywords(tmp_path, "book/01-a") == ["one", "two", "three"]
    assert search.keywords(tmp_path, "book/02-b") == []


def test_words_are_split_as_readers_type_them():
    words = search.Words({}).split("Marčenko, arXiv 2310.07891 (2022): 3.5. A constructor_2")
    assert words == ["Marcenko", "arXiv", "2310.07891", "2022.", "3.5", "A", "constructor_2"]
    assert search.Words({}).split("constructor __proto__") == ["constructor.", "__proto__."]


def test_every_glossary_entry_says_where_it_is_explained():
    text = (BOOK / "glossary.md").read_text("utf-8")
    entries = re.search(r"```{glossary}\n(.*?)```", text, re.DOTALL)[1].strip().split("\n\n")
    assert len(entries) > 20
    explained = re.compile(r"\]\([\w/.-]+\.(?:ipynb|md)\)")
    assert [entry.splitlines()[0] for entry in entries if not explained.search(entry)] == []
