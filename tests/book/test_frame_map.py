"""The map, the reading paths and the words that a search knows: drawn from files, and right about them."""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
sys.path.append(str(BOOK / "_ext"))

from onestep_book import formulas, search  # noqa: E402
from onestep_book import map as book_map  # noqa: E402

CHAPTERS = book_map.chapters(BOOK)
PATHS = book_map.paths(BOOK)
KNOWN = {chapter.stem: chapter for chapter in CHAPTERS if chapter.stem}


def write_chapter(book: Path, stem: str, heading: str, **onestep: object) -> None:
    cells = [{"cell_type": "markdown", "source": [f"# {heading}\n", "text"]}]
    (book / f"{stem}.ipynb").write_text(
        json.dumps({"cells": cells, "metadata": {"onestep": onestep}}), "utf-8"
    )


@pytest.fixture
def small(tmp_path) -> Path:
    """A book of two chapters, one of them planned too, and one that is planned."""
    write_chapter(tmp_path, "01-a", "A & B: what is it?", minutes={"short": 10, "whole": 50})
    write_chapter(tmp_path, "02-b", "Second", minutes={"short": 9, "whole": 70}, needs=["01-a"])
    plan = [{"number": 2, "title": "Old", "needs": []}, {"number": 3, "title": "Third", "needs": ["01-a", 2]}]
    (tmp_path / "map.yml").write_text(yaml.safe_dump(plan), "utf-8")
    return tmp_path


def test_a_chapter_replaces_its_plan_and_says_its_minutes(small):
    first, second, third = book_map.chapters(small)
    assert (first.title, first.short, first.whole) == ("A & B", 10, 50)
    assert (second.title, second.needs, third.stem, third.needs) == ("Second", (1,), "", (1, 2))


def test_the_map_draws_an_arc_for_each_need_and_says_it_in_words(small):
    drawn = book_map.map_html(book_map.chapters(small))
    assert drawn.count("<path") == 3
    assert drawn.count('<path class="planned"') == 2
    assert drawn.count("<circle") == drawn.count("<li") == 3
    assert '<a href="01-a.html">A &amp; B</a><small>10 min, or 50 with the derivation</small>' in drawn
    assert "Third<small>planned; needs 1 and 2</small>" in drawn


def test_minutes_of_a_path_come_from_its_chapters_once_all_are_known(small):
    chapters = book_map.chapters(small)
    known = {chapter.stem: chapter for chapter in chapters}
    path = {"name": "n", "for": "f", "minutes": 500, "pages": ["intro", "01-a", "02-b"], "short": ["02-b"]}
    assert book_map.minutes_of(path, known) == 59
    assert book_map.minutes_of(path | {"pages": ["01-a", "03-c"]}, known) == 500
    card = book_map.paths_html([path], chapters)
    assert '<a href="02-b.html">Second</a> (its first ten minutes)' in card
    assert "59 min" in card


@pytest.mark.parametrize(
    ("minutes", "said"), [(15, "15 min"), (89, "89 min"), (190, "3 h 10 min"), (358, "6 h")]
)
def test_lengths_are_said_as_readers_do(minutes, said):
    assert book_map.length(minutes) == said


def test_a_notebook_without_a_heading_is_refused_by_name(tmp_path):
    cells = [{"cell_type": "markdown", "source": ["text"]}]
    (tmp_path / "01-a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}}), "utf-8")
    with pytest.raises(ValueError, match="01-a.ipynb"):
        book_map.written(tmp_path / "01-a.ipynb")


def test_the_map_has_every_chapter_once_and_none_needs_a_later_one():
    assert [chapter.number for chapter in CHAPTERS] == list(range(1, 17))
    assert set(KNOWN) == {path.stem for path in BOOK.glob("[0-9][0-9]-*.ipynb")}
    assert [c.title for c in CHAPTERS if any(need >= c.number for need in c.needs)] == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path["name"])
def test_a_path_leads_over_pages_that_exist_or_are_planned_in_their_order(path):
    numbers = [book_map.number_of(stem) for stem in path["pages"] if stem[:2].isdigit()]
    assert numbers == sorted(set(numbers))
    for stem in path["pages"]:
        exists = (BOOK / f"{stem}.ipynb").is_file() or (BOOK / f"{stem}.md").is_file()
        planned = stem[:2].isdigit() and any(c.number == int(stem[:2]) and not c.stem for c in CHAPTERS)
        assert exists or planned, stem
    assert set(path.get("short", ())) <= set(path["pages"])
    sessions = [stem for session in path.get("sessions", []) for stem in session]
    assert sessions in ([], [stem for stem in path["pages"] if stem[:2].isdigit()])


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path["name"])
def test_a_path_keeps_its_budget_and_reads_what_is_needed_before(path):
    assert book_map.minutes_of(path, KNOWN) <= path["minutes"]
    read: set[int] = set()
    for stem in filter(KNOWN.get, path["pages"]):
        assert set(KNOWN[stem].needs) <= read, f"{stem} needs {KNOWN[stem].needs}"
        read.add(KNOWN[stem].number)


def test_words_of_the_search_belong_to_one_page_each_and_terms_of_a_chapter_join_them(tmp_path):
    words = yaml.safe_load((BOOK / "keywords.yml").read_text("utf-8"))
    listed = [word.lower() for page in words for word in words[page]]
    assert len(listed) == len(set(listed))
    for page in words:
        assert (ROOT / f"{page}.ipynb").is_file() or (ROOT / f"{page}.md").is_file()
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "keywords.yml").write_text("book/01-a: [one, two]\n", "utf-8")
    write_chapter(tmp_path / "book", "01-a", "A", terms=["two", "three"])
    assert search.keywords(tmp_path, "book/01-a") == ["one", "two", "three"]
    assert search.keywords(tmp_path, "book/02-b") == []


def test_every_glossary_entry_says_where_it_is_explained():
    text = (BOOK / "glossary.md").read_text("utf-8")
    entries = re.search(r"```{glossary}\n(.*?)```", text, re.DOTALL)[1].strip().split("\n\n")
    assert len(entries) > 20
    explained = re.compile(r"\]\([\w/.-]+\.(?:ipynb|md)\)")
    assert [entry.splitlines()[0] for entry in entries if not explained.search(entry)] == []


SIZES = [
    (r"\(\lambda\)", r"\(\lambda n\)"),
    (r"\(x_i\)", r"\(x_{ij}\)"),
    (r"\(\frac ab\)", r"\(a+b\)"),
    (r"\(\operatorname{tr}\)", r"\(\operatorname{tr}R\)"),
]


@pytest.mark.parametrize(("narrow", "wide"), SIZES)
def test_room_grows_with_what_is_seen(narrow, wide):
    assert 0 < formulas.width(narrow) < formulas.width(wide)


def test_room_is_written_once_and_in_the_right_direction():
    page = (
        '<span class="math notranslate nohighlight">\\(x\\)</span>'
        '<div class="math notranslate nohighlight" id="e">\\[\\sum_kx_k\\\\ y\\]</div>'
    )
    done = formulas.with_rooms(page)
    assert re.findall(r"--(wide|high):[\d.]+em", done) == ["wide", "high"]
    assert 'id="e" style=' in done
    assert formulas.with_rooms(done) == done
