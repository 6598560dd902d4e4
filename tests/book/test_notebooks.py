"""Notebooks for JupyterLab, Binder and Colab: what the page says, in plain Markdown, and no solution."""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from itertools import zip_longest
from pathlib import Path

import nbformat
import pytest
import yaml
from chapter_parts import parser
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from test_predict import CONFIG

from book._tools import notebooks as tool
from book._tools import refresh

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("ONESTEP_SITE", ROOT / "_build" / "html"))
CHAPTERS = sorted(path.stem for path in (ROOT / "book").glob("[0-9][0-9]-*.ipynb"))
sys.path.append(str(ROOT / "book" / "_ext"))

from onestep_book import notebooks  # noqa: E402

each_chapter = pytest.mark.parametrize("stem", CHAPTERS)
VOID = {"br", "hr", "img", "input", "link", "meta", "wbr", "source", "path", "col"}
# What stands on the page alone, and what stands in the notebook alone.
PAGE_ONLY = {"cell_input", "cell_output", "solution", "headerlink", "math", "os-reply", "sd-summary-icon"}
PAGE_ONLY |= {"hide", "sd-summary-state-marker", "copybtn", "toggle-details", "prev-next-footer"}
HINT = re.compile(r"\*The solutions stand in a notebook of their own[^*]*\*")


def made(stem: str) -> nbformat.NotebookNode:
    path = SITE / notebooks.FOLDER / f"{stem}.ipynb"
    if not path.exists():
        pytest.fail(f"{path} is not there: run `make book` first")
    return nbformat.read(path, as_version=4)


def source(stem: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / "book" / f"{stem}.ipynb", as_version=4)


def text_of(notebook: nbformat.NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


class Page(HTMLParser):
    """The words of a page by section, its equation numbers and its captions, without cells and solutions."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[tuple[str, set[str]]] = []
        self.words: dict[str, list[str]] = {"": []}
        self.section, self.title = "", ""
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append((tag, set((dict(attributes).get("class") or "").split())))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        while self.open and self.open.pop()[0] != tag:
            pass
        if tag == "h2":
            self.section, self.title = letters(self.title), ""
            self.words[self.section] = []

    def handle_data(self, data: str) -> None:
        tags, classes = {tag for tag, _ in self.open}, [names for _, names in self.open]
        if "article" not in tags or "script" in tags or "svg" in tags:
            return
        # A figure's caption stands inside the output of its cell; an explorer's belongs to the output.
        caption = "figcaption" in tags and any("align-default" in names for names in classes)
        if not caption and any(names & PAGE_ONLY for names in classes):
            return
        if any("math" in names or "headerlink" in names for names in classes):
            return
        if "h2" in tags:
            self.title += data
        else:
            self.words[self.section].append(data)


def letters(text: str) -> str:
    """What is left to compare: words, without signs, spaces and case."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def page(stem: str) -> str:
    return (SITE / "book" / f"{stem}.html").read_text(encoding="utf-8")


def notebook_words(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The words of a notebook's Markdown by section, without formulas."""
    words, section = {"": ""}, ""
    tokens = parser().parse(HINT.sub("", text_of(notebook)))
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "html_block":
            words[section] += re.sub(r"<[^>]*>", "", token.content)
        elif token.type == "inline":
            said = "".join("" if c.type == "math_inline" else c.content for c in token.children)
            said = re.sub(r"<[^>]*>", "", said)
            if before.type == "heading_open" and before.tag == "h2":
                section = letters(said)
                words[section] = ""
            else:
                words[section] += f" {said}"
    return {key: letters(value) for key, value in words.items()}


@each_chapter
def test_a_notebook_says_what_its_page_says(stem):
    on_page = {key: letters("".join(value)) for key, value in Page(page(stem)).words.items()}
    in_notebook = notebook_words(made(stem))
    assert list(in_notebook) == list(on_page)
    for section, words in on_page.items():
        at = next(
            (k for k, (a, b) in enumerate(zip_longest(words, in_notebook[section])) if a != b), len(words)
        )
        told = in_notebook[section][max(at - 60, 0) : at + 60]
        assert words == in_notebook[section], f"{words[max(at - 60, 0) : at + 60]!r} became {told!r}"


@each_chapter
def test_numbers_of_equations_and_figures_are_those_of_the_page(stem):
    text = page(stem)
    solutions = re.compile(r'<div class="[^"]*\bsolution\b.*?(?=<section id="open-question"|\Z)', re.DOTALL)
    told = text_of(made(stem))
    equations = re.findall(r'<span class="eqno">\(([\d.]+)\)', solutions.sub("", text))
    assert re.findall(r"\\text\{\(([\d.]+)\)\}", told) == equations
    figures = re.findall(r'<span class="caption-number">Fig\. ([\d.]+)', text)
    assert re.findall(r"^\*\*Fig\. ([\d.]+)\*\*", told, re.MULTILINE) == figures
    assert equations


@each_chapter
def test_nothing_is_left_of_the_markup(stem):
    for name in (stem, f"{stem}-solutions"):
        text = text_of(made(name))
        prose = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|`[^`]*`", "", text, flags=re.DOTALL)
        assert not re.search(r"\{[a-z:]+\}`|^:::|^```+\{|^\([\w-]+\)=|^:\w+: ", text, re.MULTILINE)
        assert not re.search(r"\b(?:eq|fig|ex|sol)-[a-z]", prose)
        assert "your-account" not in prose


@each_chapter
def test_readers_have_all_cells_but_asserts_and_solutions_stand_apart(stem):
    chapter, solutions = code(made(stem)), code(made(f"{stem}-solutions"))
    cells = [c for c in source(stem).cells if c.cell_type == "code" and c.source.strip()]
    asserts = {c.source for c in cells if "asserts" in c.metadata.get("tags", [])}
    own = {c.source for c in cells} - asserts
    assert own <= solutions
    assert chapter < solutions
    assert own - chapter
    assert not asserts & solutions
    assert "olution to" not in text_of(made(stem))
    labels = len(re.findall(r"\{solution(?:-start)?\} ", text_of(source(stem))))
    assert len(re.findall(r"^## Solution to ", text_of(made(f"{stem}-solutions")), re.MULTILINE)) == labels


def code(notebook: nbformat.NotebookNode) -> set[str]:
    return {cell.source for cell in notebook.cells if cell.cell_type == "code"}


@each_chapter
def test_hidden_code_is_folded(stem):
    hidden = {
        cell.source for cell in source(stem).cells if notebooks.FOLDED & set(cell.metadata.get("tags", []))
    }
    for cell in made(stem).cells:
        if cell.cell_type == "code" and "google.colab" not in cell.source:
            folded = cell.metadata.get("jupyter", {}).get("source_hidden", False)
            assert folded == (cell.source in hidden)
            assert (cell.metadata.get("cellView") == "form") == folded


@pytest.mark.slow
@each_chapter
def test_solutions_run_below_the_chapters_code(stem, tmp_path):
    resources = {"metadata": {"path": tmp_path}}
    NotebookClient(made(f"{stem}-solutions"), timeout=600, resources=resources).execute()


TEXT = """\
# Small

:::{predict} Which?
- [ ] This $a$

  No.
- [x] That

  Yes, see {eq}`eq-a`.
:::

## Words

It costs \\$5, *really*, by {cite}`key`: see {numref}`fig-a`, {ref}`the list <list>`.

```{admonition} Closed
:class: dropdown
Folded *words*.
```

| a | b |
| --- | --- |
| $\\lvert x\\rvert$ | `c` |

$$
a=b
$$ (eq-a)

(list)=
### List

1. one
2. two, [elsewhere](more.md), [outside](https://example.org)
"""
SOLVED = """\
## Exercises

```{exercise-start}
:label: ex-one
```
*Check.* Why {eq}`eq-a`?

:::{dropdown} Hint
Look.
:::
```{exercise-end}
```

````{solution-start} ex-one
:class: dropdown
````
Because.
"""
FIGURE = {"figure": {"caption": "A *line*, {eq}`eq-a`.", "name": "fig-a"}, "image": {"alt": "A line."}}
MORE = "https://some-lab.github.io/one-step/book/more.html"
PLOT = "import matplotlib.pyplot as plt\nx = 1\n_ = plt.plot([x, 2])"


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Path:
    """The folder of the notebooks made from a chapter of a few cells."""
    root = tmp_path_factory.mktemp("small")
    (root / "book").mkdir()
    config = CONFIG + "    numfig: true\n    math_numfig: true\n"
    config += "repository: {url: https://github.com/some-lab/one-step}\n"
    (root / "_config.yml").write_text(config, "utf-8")
    toc = "format: jb-book\nroot: book/intro\nparts:\n  - numbered: 1\n    chapters: [{file: book/01-a}]\n"
    (root / "_toc.yml").write_text(toc + "  - chapters: [{file: book/more}]\n", "utf-8")
    (root / "book" / "intro.md").write_text("# Intro\n\nWords.\n", "utf-8")
    (root / "book" / "more.md").write_text("# More\n\n```{bibliography}\n```\n", "utf-8")
    entry = "@article{key, author={Ann Other}, title={T}, journal={J}, year={2020}}\n"
    (root / "book" / "references.bib").write_text(entry, "utf-8")
    cells = [
        new_markdown_cell(TEXT),
        new_code_cell(PLOT, metadata={"tags": ["hide-input"], "mystnb": FIGURE}),
        new_code_cell("y = x\nassert y", metadata={"tags": ["remove-cell", "asserts"]}),
        new_code_cell("print(x)", metadata={"tags": ["hide-output"]}),
        new_markdown_cell(SOLVED),
        new_code_cell("print(x + 1)"),
        new_markdown_cell("````{solution-end}\n````"),
    ]
    chapter = new_notebook(cells=cells, metadata=refresh.METADATA)
    nbformat.write(chapter, root / "book" / "01-a.ipynb")
    code = "import sys; from pathlib import Path; from book._tools import build; "
    code += "sys.exit(build.main(Path(sys.argv[1])))"
    reply = subprocess.run(
        [sys.executable, "-c", code, str(root)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert reply.returncode == 0, reply.stdout + reply.stderr
    return root / "_build" / "html" / notebooks.FOLDER


def test_markup_becomes_plain_markdown(small):
    notebook = json.loads((small / "01-a.ipynb").read_text("utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"]]
    kinds = [cell["cell_type"] for cell in notebook["cells"]]
    text = "\n\n".join(cell for cell, kind in zip(cells, kinds, strict=True) if kind == "markdown")
    for expected in (
        "# 1. Small",
        "**Predict** Which?",
        "- This $a$\n- That",
        "<details><summary>The answer, with reasons</summary>\n\n",
        "- **Wrong:** This $a$\n\n  No.\n- **Right:**",
        "Yes, see (1.1).",
        "It costs \\$5, *really*, by [[Oth20](" + MORE + "#id2)]: see Fig. 1.1, the list.",
        "<details><summary>Closed</summary>\n\nFolded *words*.\n\n</details>",
        "| a | b |\n| --- | --- |\n| $\\lvert x\\rvert$ | `c` |",
        "$$\na=b\n\\qquad\\text{(1.1)}\n$$",
        "1. one\n2. two, [elsewhere](" + MORE + "), [outside](https://example.org)",
        "**Fig. 1.1** A *line*, (1.1).",
        "### Exercise 1.1\n\n*Check.* Why (1.1)?\n\n<details><summary>Hint</summary>\n\nLook.\n\n</details>",
    ):
        assert expected in text
    assert "Because" not in text
    assert cells.index(PLOT) + 1 == next(k for k, cell in enumerate(cells) if cell.startswith("**Fig. 1.1**"))
    code = {"".join(c["source"]): c["metadata"] for c in notebook["cells"] if c["cell_type"] == "code"}
    assert "google.colab" in next(iter(code))
    assert {cell: said for cell, said in code.items() if "google.colab" not in cell} == {
        PLOT: {"cellView": "form", "tags": ["hide-input"], "jupyter": {"source_hidden": True}},
        "print(x)": {"jupyter": {"outputs_hidden": True}},
    }


def test_the_solutions_hold_the_chapters_code_folded(small):
    notebook = json.loads((small / "01-a-solutions.ipynb").read_text("utf-8"))
    cells = notebook["cells"]
    title, install, *rest = ["".join(cell["source"]) for cell in cells]
    assert title == "# 1. Small: solutions\n\nThe folded cells run the chapter's code."
    assert install.startswith(f"{notebooks.COLAB}%pip install -q git+https://github.com/")
    assert rest == [
        PLOT,
        "print(x)",
        "## Solution to Exercise 1.1\n\nBecause.",
        "print(x + 1)",
    ]
    assert all(
        cells[k]["metadata"]["jupyter"] == {"source_hidden": True, "outputs_hidden": True} for k in (2, 3)
    )


def test_the_site_offers_the_made_notebook_in_place_of_its_source(small):
    assert (small.parent / "_sources" / "book" / "01-a.ipynb").read_bytes() == (
        small / "01-a.ipynb"
    ).read_bytes()


def test_no_site_is_needed_and_a_notebook_that_was_written_in_stays(small, tmp_path):
    root = small.parents[2]
    (root / tool.COURSEWORK).mkdir(exist_ok=True)
    assert {path.name for path in tool.make(tmp_path, root)} == {"01-a.ipynb", "01-a-solutions.ipynb"}
    for path in tmp_path.glob("*.ipynb"):
        assert path.read_bytes() == (small / path.name).read_bytes()
    (tmp_path / "01-a.ipynb").write_text("mine")
    assert tool.make(tmp_path, root) == []
    assert (tmp_path / "01-a.ipynb").read_text() == "mine"
    os.utime(tmp_path / "01-a-solutions.ipynb", (0, 0))
    os.utime(tmp_path / "01-a.ipynb", (0, 0))  # older than the chapter
    assert [path.name for path in tool.make(tmp_path, root)] == ["01-a-solutions.ipynb", "01-a.ipynb"]


@pytest.mark.slow
def test_the_branch_is_pushed_and_binder_can_build_its_clone(tmp_path):
    """The steps of the workflow in a shell, with a bare repository in place of the public one."""
    tool.branch(tmp_path / "made")
    subprocess.run(["tar", "-czf", tmp_path / "branch.tar.gz", "-C", tmp_path / "made", "."], check=True)
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "public"], check=True)
    workflow = yaml.safe_load((ROOT / ".github/workflows/publish.yml").read_text("utf-8"))
    push = next(step["run"] for step in workflow["jobs"]["notebooks"]["steps"] if "run" in step)
    environment = os.environ | {"REMOTE": str(tmp_path / "public"), "GITHUB_SHA": "0123"}
    for _ in range(2):  # the second push replaces the first
        shutil.rmtree(tmp_path / "branch", ignore_errors=True)
        subprocess.run(["bash", "-e", "-c", push], cwd=tmp_path, env=environment, check=True)
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "-b", "notebooks", tmp_path / "public", clone], check=True)
    assert {f"{stem}.ipynb" for stem in CHAPTERS} < {path.name for path in (clone / "book").glob("*.ipynb")}
    assert list((clone / "book" / "coursework").glob("*.ipynb"))
    wanted = (clone / ".binder" / "requirements.txt").read_text("utf-8")
    assert wanted.startswith("-c constraints.txt\n")
    assert re.search(
        r"^numpy==[\d.]+$", (clone / ".binder" / "constraints.txt").read_text("utf-8"), re.MULTILINE
    )
    command = [sys.executable, "-W", "ignore", "-m", "repo2docker", "--no-build", "--debug"]
    reply = subprocess.run(
        [*command, "--user-id=1000", "--user-name=reader", "."],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
    )
    printed = reply.stdout + reply.stderr
    assert reply.returncode == 0, printed[-2000:]
    # `-e .` needs the repository in place before pip runs.
    copied = printed.find("COPY --chown=1000:1000 src/ ")
    assert 0 < copied < printed.find('pip install --no-cache-dir -r ".binder/requirements.txt"')
    assert "environment-2epy-2d3-2e11" in printed  # repo2docker's spelling of environment.py-3.11
    first = nbformat.read(clone / "book" / f"{CHAPTERS[0]}.ipynb", as_version=4)
    first.cells = [cell for cell in first.cells if cell.cell_type == "code"][:3]
    NotebookClient(first, timeout=60, resources={"metadata": {"path": clone / "book"}}).execute()
