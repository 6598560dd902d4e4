"""The chapters' files: the first cell, what is stored, what is described, what is compared."""

import json
import re
from pathlib import Path

import pytest

from book._tools import refresh

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]-*.ipynb"))
LARGEST = 300_000  # bytes of a notebook: text only
pytestmark = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


def cells(path: Path, kind: str) -> list[dict]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == kind]


def source(cell: dict) -> str:
    return "".join(cell["source"])


def tags(cell: dict) -> list[str]:
    return cell["metadata"].get("tags", [])


def test_only_compared_text_is_stored(path):
    assert path.stat().st_size < LARGEST
    for cell in cells(path, "code"):
        compared = refresh.CHECKED in tags(cell)
        assert bool(cell["outputs"]) == compared, source(cell)
        assert (cell["execution_count"] is not None) == compared
        for output in cell["outputs"]:
            assert set(output.get("data", {"text/plain": ""})) == {"text/plain"}


def test_some_numbers_are_compared(path):
    assert any(refresh.CHECKED in tags(cell) for cell in cells(path, "code"))


def test_formulas_use_no_macro_of_their_own(path):
    text = "\n".join(map(source, cells(path, "markdown")))
    assert not re.search(r"\\(re)?newcommand|\\def\\|\\DeclareMathOperator", text)


def test_chapters_do_not_touch_the_path_or_global_seeds(path):
    code = "\n".join(map(source, cells(path, "code")))
    assert not re.search(r"sys\.path|np\.random\.seed|warnings\.filterwarnings", code)


def test_labels_are_unique_in_the_book(path):
    def labels(chapter: Path) -> list[str]:
        text = "\n".join(map(source, cells(chapter, "markdown")))
        equations = re.findall(r"\$\$\s*\(([\w:-]+)\)", text)
        directives = re.findall(r"^:(?:label|name): *(\S+)", text, re.MULTILINE)
        named = [
            c["metadata"].get("mystnb", {}).get("figure", {}).get("name") for c in cells(chapter, "code")
        ]
        return equations + directives + [name for name in named if name]

    own = labels(path)
    others = {label for other in CHAPTERS if other != path for label in labels(other)}
    assert len(own) == len(set(own))
    assert not set(own) & others
