"""The page of results: what an entry names is there, and no page gives a result another status."""

import json
import re
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
sys.path.append(str(BOOK / "_ext"))

from onestep_book import results  # noqa: E402

ROWS = [row for rows in results.groups(ROOT).values() for row in rows]
STATUS = {row["id"]: row["status"] for row in ROWS}
DEVIATIONS = results.deviations(ROOT)
FIELDS = {"id", "title", "status", "known", "needs", "says", "function", "test"}
# What a paragraph that links to results of one status only must not say of them.
OTHERS = {
    "theorem": r"not proved|unproved|only observed",
    "derived": r"\bproved here|is a theorem|only observed",
    "observed": r"\bproved\b|\bderived\b|theorem",
}


def prose(path: Path) -> str:
    """A page's Markdown, a notebook's cells as paragraphs."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        return text
    cells = (cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")
    return "\n\n".join("".join(cell["source"]) for cell in cells)


PAGES = {path.name: prose(path) for path in sorted(BOOK.iterdir()) if path.suffix in (".ipynb", ".md")}
CHAPTERS = {name: text for name, text in PAGES.items() if re.match(r"\d\d-", name)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_what_an_entry_names_is_there(row):
    assert set(row) >= FIELDS
    assert set(row) <= FIELDS | {"proof", "beyond", "source", "equation", "deviation"}
    assert row["status"] in OTHERS
    for name in row["function"]:
        module, _, function = name.rpartition(".")
        assert hasattr(import_module(f"onestep_lib.{module}"), function), name
    for test in row["test"]:
        file, _, function = test.partition("::")
        path = ROOT / file if file.startswith("book/") else ROOT / "tests" / file
        assert function == "" or re.search(rf"^def {function}\(", path.read_text("utf-8"), re.MULTILINE), test
        assert path.exists(), test
    labels = set(re.findall(r"^\$\$ \((eq-[\w-]+)\)", "\n".join(PAGES.values()), re.MULTILINE))
    assert set(row.get("equation", ())) <= labels
    assert set(row.get("deviation", ())) <= set(DEVIATIONS)


def test_the_page_numbers_every_result_once():
    page = results.page(results.groups(ROOT), DEVIATIONS)
    assert re.findall(r"^\(res-([a-z-]+)\)=\n### Result (\d+)\. ", page, re.MULTILINE) == [
        (row["id"], str(k)) for k, row in enumerate(ROWS, 1)
    ]
    assert set(re.findall(r"<res-([a-z-]+)>", page)) <= set(STATUS)


def test_every_numbered_equation_leads_to_its_results_and_every_function_to_its_result():
    table = results.groups(ROOT)
    told = results.equations(table, ROOT)
    for label in re.findall(r"^\$\$ \((eq-[\w-]+)\)", "\n".join(CHAPTERS.values()), re.MULTILINE):
        stated = [row["id"] for row in ROWS if label in row.get("equation", ())]
        entry = re.search(rf"\{{eq\}}`{label}`([^·\n]*)", told)
        assert re.findall(r"<res-([a-z-]+)>", entry[1]) == stated
    row, lines = ROWS[0], []
    app = SimpleNamespace(srcdir=ROOT)
    results.link_back(app, "function", f"onestep_lib.{row['function'][0]}", None, None, lines)
    assert f"<res-{row['id']}>" in lines[1]
    assert row["test"][0] in lines[1]


@pytest.mark.parametrize("name", PAGES)
def test_no_page_gives_a_result_another_status(name):
    assert set(re.findall(r"\bres-([a-z-]+)`", PAGES[name])) <= set(STATUS)
    for paragraph in re.split(r"\n\s*\n", PAGES[name]):
        statuses = {STATUS[key] for key in re.findall(r"\bres-([a-z-]+)`", paragraph)}
        if len(statuses) == 1:
            found = re.search(OTHERS[statuses.pop()], paragraph)
            assert found is None, f"{found and found[0]}: {paragraph}"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_leaves_the_status_to_the_page(name):
    assert "res-" in CHAPTERS[name]
    assert not re.search(r"^\|.*\bstatus\b.*\|$", CHAPTERS[name], re.MULTILINE)
    assert not re.search(r"\bnot proved\b|\bproved here\b|\bderived and measured\b", CHAPTERS[name])
