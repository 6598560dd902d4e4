"""Reading paths: on each, nothing is used before it is introduced.

The paths stand on the first page (`sec-paths`). A chapter's metadata name the symbols and terms that it
introduces and the chapters it needs; equations and figures are introduced where their labels stand. Of a page
that is read in ten minutes, only the first screen and the sections that its line "Ten minutes" names count,
for what it uses and for what it introduces.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from chapter_parts import Part, parts, slug
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
STEMS = sorted(path.stem for path in BOOK.glob("[0-9][0-9]-*.ipynb"))
WORDS = re.compile(
    r"\\(?:begin|end|label|tag)\{[^}]*\}|\\(?:operatorname|mathrm|text|mathbb|mathcal)\b\*?\{[^}]*\}"
)
TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|[^\s{}]")


def page(stem: str) -> dict:
    """A page as a notebook; a Markdown page is one cell."""
    notebook = BOOK / f"{stem}.ipynb"
    if notebook.exists():
        return json.loads(notebook.read_text(encoding="utf-8"))
    return new_notebook(cells=[new_markdown_cell((BOOK / f"{stem}.md").read_text(encoding="utf-8"))])


def own(notebook: dict, key: str) -> list[str]:
    return notebook["metadata"].get("onestep", {}).get(key, [])


def tokens(formula: str) -> list[str]:
    r"""A formula as signs: `m_{1}` and `m_1` are the same; the letters of \operatorname{tr} are none."""
    return TOKEN.findall(WORDS.sub(" ", formula))


def uses(formula: str, symbol: str) -> bool:
    """True if a symbol stands in a formula, and not a longer one that begins with it."""
    if WORDS.search(symbol):  # a word such as share_k
        return re.sub(r"[\s{}]", "", symbol) in re.sub(r"[\s{}]", "", formula)
    row, sought = tokens(formula), tokens(symbol)
    for k in range(len(row) - len(sought) + 1):
        if row[k : k + len(sought)] == sought:
            before, after = row[k - 1] if k else "", (row[k + len(sought) :] or [""])[0]
            longer = after == "_" and "_" not in sought
            longer |= after.isdigit() and sought[-1].isdigit()
            index_of_another = before == "_" and len(sought) == 1
            if not longer and not index_of_another:
                return True
    return False


def read_parts(notebook: dict, short: bool) -> list[Part]:
    """What is read of a page: all, or what its line `Ten minutes` names."""
    row = parts(notebook)
    if not short:
        return row
    text = "\n".join("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
    line = re.search(r"\*\*Ten minutes:\*\*(.*(?:\n.+)*)", text)
    anchors = set(re.findall(r"\]\(#([^)\s]+)\)", line[1])) if line else set()
    found, section, step = [], "", ""
    for part in row:
        if part.kind == "heading" and part.name == "h2":
            section, step = slug(part.text), ""
        elif part.kind == "heading" and part.name == "h3":
            step = slug(part.text)
        if not section or section in anchors or step in anchors:
            found.append(part)
    return found


def labels(row: Iterable[Part]) -> set[str]:
    """Equations, figures, exercises and questions that stand in these parts."""
    found = set()
    for part in row:
        found |= {part.label, part.options.get("label", ""), part.options.get("name", "")}
        found.add(part.mystnb.get("figure", {}).get("name", ""))
    return found - {""}


def target(content: str) -> str:
    """What a role points to: `text <target>` or the target itself."""
    named = re.search(r"<([^>]+)>$", content)
    return named[1] if named else content


def faults(stems: list[str], short: set[str], pages: dict[str, dict]) -> list[str]:
    """What is used on a path before it is introduced, one sentence each."""
    found, read, known = [], [], set()
    symbols = {symbol: stem for stem in pages for symbol in own(pages[stem], "symbols")}
    terms = {term.lower(): stem for stem in pages for term in own(pages[stem], "terms")}
    for stem in stems:
        row = read_parts(pages[stem], stem in short)
        here = labels(parts(pages[stem]))
        for needed in own(pages[stem], "needs"):
            if needed not in read and stem not in short:
                found.append(f"{stem} needs {needed}, which does not stand before it")
        for symbol, where in symbols.items():
            used = any(uses(formula, symbol) for part in row for formula in part.formulas)
            if used and where not in (*read, stem):
                found.append(f"{stem} uses the symbol {symbol}, which {where} introduces")
        for role, content in {role for part in row for role in part.roles}:
            name = target(content)
            if role in ("eq", "numref", "ref") and re.match(r"(eq|fig|ex)-", name):
                if name not in here | known:
                    found.append(f"{stem} refers to {name}, which has not been read")
            elif role == "term":
                where = terms.get(name.lower(), stem)
                if where not in (*read, stem):
                    found.append(f"{stem} uses the term {name}, which {where} introduces")
        read.append(stem)
        known |= labels(row)
    return found


def paths() -> dict[str, tuple[list[str], set[str]]]:
    """Name of each path, its chapters, and those of which ten minutes are enough."""
    text = "".join("".join(cell["source"]) for cell in page("intro")["cells"])
    section = re.search(r"\(sec-paths\)=.*?(?=\n## How)", text, re.DOTALL)[0]
    found = {}
    for name, body in re.findall(r"^\*\*(.+?)\*\* \((.*?)(?=^\*\*|\Z)", section, re.DOTALL | re.MULTILINE):
        listed = re.findall(r"^(?:-|\d\.) .+$", body, re.MULTILINE)
        stems = [stem for line in listed for stem in re.findall(r"\]\((\d\d-[\w-]+)\.ipynb\)", line)]
        short = {stem for stem in stems if f"{stem}.ipynb) (its first ten minutes)" in body}
        found[name] = (stems or STEMS, short)
    return found


PATHS = paths()


@pytest.fixture(scope="module")
def pages() -> dict[str, dict]:
    return {stem: page(stem) for stem in STEMS}


@pytest.mark.parametrize("name", PATHS)
def test_nothing_is_used_before_it_is_introduced(name, pages):
    found = faults(*PATHS[name], pages)
    assert not found, "\n".join([f"On the path {name!r}:", *found])


def test_there_is_a_path_through_every_chapter():
    assert len(PATHS) > 2
    assert any(stems == STEMS for stems, _ in PATHS.values())


@pytest.mark.parametrize(
    ("formula", "symbol", "used"),
    [
        (r"\lambda m_{1}", "m_1", True),
        (r"m_{12}", "m_1", False),
        (r"m_1'", "m_1", True),
        (r"\kappa=1", r"\kappa", True),
        (r"\kappa_j", r"\kappa", False),
        (r"\beta_*", "b", False),
        (r"a\,b^\top", "b", True),
        (r"b_i", "b", False),
        (r"x_b", "b", False),
        (r"\operatorname{sub} x", "b", False),
        (r"\begin{aligned}x\end{aligned}", "b", False),
        (r"\tau_j\approx\tau", r"\tau", True),
        (r"\tilde F=c_0", r"\tilde F", True),
        (r"F", r"\tilde F", False),
        (r"\text{share}_k", r"\text{share}_k", True),
        (r"\text{test}", r"\text{share}_k", False),
    ],
)
def test_a_symbol_is_found_in_a_formula(formula, symbol, used):
    assert uses(formula, symbol) == used


FIRST = """\
# One

It opens. **Ten minutes:** [in words](#in-words), [a step](#step-2-later), [that](#x).

## In words
{term}`mu` and $m_1$.

$$
m_1=1
$$ (eq-one)

## Derivation
### Step 1. First

$$
m_2=1
$$ (eq-two)

### Step 2. Later
More.
"""


def small(second: str, needs: list[str]) -> dict[str, dict]:
    one = {"symbols": ["m_1"], "terms": ["mu"], "needs": []}
    two = {"symbols": ["q"], "terms": ["spike"], "needs": needs}
    figure = new_code_cell("draw()", metadata={"mystnb": {"figure": {"name": "fig-one"}}})
    return {
        "one": new_notebook(cells=[new_markdown_cell(FIRST), figure], metadata={"onestep": one}),
        "two": new_notebook(cells=[new_markdown_cell(second)], metadata={"onestep": two}),
    }


GOOD = "# Two\n\nBy {eq}`eq-one`, {numref}`fig-one` and {eq}`the second <eq-two>`, $q=m_1$, a {term}`Mu`.\n"


def test_a_path_in_order_has_no_fault():
    assert faults(["one", "two"], set(), small(GOOD, ["one"])) == []


@pytest.mark.parametrize(
    ("stems", "short", "second", "words"),
    [
        (["two"], set(), GOOD, "two needs one"),
        (["two", "one"], set(), GOOD, "uses the symbol m_1, which one introduces"),
        (["two", "one"], set(), "# Two\n\n| a |\n| --- |\n| $m_1$ |\n", "uses the symbol m_1"),
        (["two", "one"], set(), GOOD, "refers to eq-one"),
        (["two", "one"], set(), GOOD, "refers to fig-one"),
        (["two", "one"], set(), GOOD, "uses the term Mu"),
        (["one", "two"], {"one"}, GOOD, "refers to eq-two, which has not been read"),
        (["one", "two"], set(), "# Two\n\nSee {eq}`eq-three`.\n", "refers to eq-three"),
    ],
)
def test_a_seeded_defect_is_found(stems, short, second, words):
    assert any(words in fault for fault in faults(stems, short, small(second, ["one"])))


def test_a_short_reading_takes_the_sections_it_names():
    row = read_parts(small(GOOD, [])["one"], short=True)
    assert [part.text for part in row if part.kind == "heading"] == ["One", "In words", "Step 2. Later"]
    assert labels(row) == {"eq-one", "fig-one"}
