"""Notebooks for JupyterLab, Binder and Colab, made from the pages.

A chapter's source is written for Sphinx: there, references, citations and directives would stand as raw
markup. So each page, once every reference in it is resolved, is written again as plain Markdown between the
code cells of its source: numbers as on the page, captions as text under the figures, hidden code folded.

    notebooks/NN-name.ipynb             the chapter without its solutions
    notebooks/NN-name-solutions.ipynb   the solutions, with the chapter's code folded above them

`python -m book._tools.notebooks` makes them without running a chapter or building the site. In a site they
take the place of the sources that its download buttons lead to.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import nbformat
from docutils import nodes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder

from .repository import is_placeholder

FOLDER = "notebooks"  # of what is built
CHAPTER = re.compile(r"book/([\w-]+)")
FOLDED = {"hide-input", "hide-cell"}
KEPT = {"hide-input", "nbval-check-output"}
OUTPUT_FOLDED = {"hide-output", "hide-cell"}
COLAB = """\
# In Google Colab, install the book's library first; everywhere else it is already there.
import sys

if "google.colab" in sys.modules:
    """
UNKNOWN = (
    'print("This copy of the book has no address yet: make address URL=https://github.com/<owner>/<name>")'
)


class Notebooks(StandaloneHTMLBuilder):
    """Resolves what a site needs, and writes no page."""

    name = "notebooks"

    def write_doc(self, docname: str, doctree: nodes.document) -> None:
        """The notebook is written when all is resolved."""

    def finish(self) -> None:
        """Nothing stands beside the notebooks."""


def connect(app: Sphinx) -> None:
    app.add_builder(Notebooks)
    app.connect("source-read", stand_in_for_figures)
    # After all that resolves references.
    app.connect("doctree-resolved", write_notebooks, priority=900)
    app.connect("build-finished", replace_sources)


def stand_in_for_figures(app: Sphinx, docname: str, source: list[str]) -> None:
    """Where no chapter is run, a figure that has a caption is still one, with its number."""
    if app.config.nb_execution_mode != "off" or not app.env.doc2path(docname).endswith(".ipynb"):
        return
    notebook = nbformat.reads(source[0], as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code" and "figure" in cell.metadata.get("mystnb", {}):
            cell.outputs = [new_output("display_data", {"image/svg+xml": "<svg/>"})]
    source[0] = json.dumps(notebook)


def write_notebooks(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    source = Path(app.env.doc2path(docname))
    found = CHAPTER.fullmatch(docname)
    if app.builder.format != "html" or found is None or source.suffix != ".ipynb":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(exist_ok=True)
    made = Chapter(nbformat.read(source, as_version=4), doctree, Markdown(app, docname))
    nbformat.write(made.chapter(found[1]), folder / f"{found[1]}.ipynb")
    if made.solved:
        nbformat.write(made.solutions(), folder / f"{found[1]}-solutions.ipynb")


def replace_sources(app: Sphinx, exception: Exception | None) -> None:
    made = Path(app.outdir) / FOLDER
    if exception is None and app.builder.name == "html" and made.is_dir():
        shutil.copytree(made, Path(app.outdir) / "_sources" / "book", dirs_exist_ok=True)
        shutil.make_archive(str(made), "zip", made)


class Chapter:
    """The cells of a chapter and of its solutions, from its source and its resolved page."""

    def __init__(self, source: nbformat.NotebookNode, doctree: nodes.document, markdown: "Markdown") -> None:
        self.source, self.title = source, ""
        self.told, self.solved = [], []  # pieces: Markdown, or the number of a cell in the source
        for piece in markdown.pieces(doctree):
            (self.solved if markdown.in_solution else self.told).append(piece)
        self.title = next((x for x in self.told if isinstance(x, str) and x.startswith("# ")), "# Chapter")
        address = markdown.env.config.html_theme_options.get("repository_url", "")
        command = UNKNOWN if is_placeholder(address) else f"%pip install -q git+{address}"
        self.install = new_code_cell(COLAB + command, metadata={"tags": ["hide-input"]})

    def chapter(self, stem: str) -> nbformat.NotebookNode:
        """The student's version."""
        hint = f"*The solutions stand in a notebook of their own, `{stem}-solutions.ipynb`.*"
        told = list(self.told)
        if self.solved and "## Exercises" in told:
            told.insert(told.index("## Exercises") + 1, hint)
        cells = self.cells(told)
        if any(cell.cell_type == "code" for cell in cells):
            cells.insert(1, code_cell(self.install))
        return self.notebook(cells)

    def solutions(self) -> nbformat.NotebookNode:
        """The solutions, below the chapter's code, on which they build."""
        cells = [new_markdown_cell(f"{self.title}: solutions\n\nThe folded cells run the chapter's code.")]
        cells.append(code_cell(self.install))
        told = [self.source.cells[piece] for piece in self.told if isinstance(piece, int)]
        cells += [code_cell(cell, whole=True) for cell in told]
        return self.notebook([*cells, *self.cells(self.solved)])

    def cells(self, pieces: list[str | int]) -> list[nbformat.NotebookNode]:
        """Cells from pieces."""
        cells: list[nbformat.NotebookNode] = []
        for piece in pieces:
            if isinstance(piece, int):
                cells.append(code_cell(self.source.cells[piece]))
            elif re.match(r"#+ ", piece) or not cells or cells[-1].cell_type == "code":
                cells.append(new_markdown_cell(piece))
            else:
                cells[-1].source += f"\n\n{piece}"
        return cells

    def notebook(self, cells: list[nbformat.NotebookNode]) -> nbformat.NotebookNode:
        for number, cell in enumerate(cells, start=1):
            cell.id = f"cell-{number:03d}"
        metadata = {key: said for key, said in self.source.metadata.items() if key != "onestep"}
        made = new_notebook(cells=cells, metadata=metadata)
        nbformat.validate(made)
        return made


def code_cell(cell: nbformat.NotebookNode, whole: bool = False) -> nbformat.NotebookNode:
    """A cell of the source, folded where the page hides it, or as a `whole`; Colab reads cellView."""
    tags = set(cell.metadata.get("tags", []))
    hiding = {"source_hidden": FOLDED, "outputs_hidden": OUTPUT_FOLDED}
    jupyter = {part: True for part, by in hiding.items() if whole or tags & by}
    form = "form" if "source_hidden" in jupyter else ""
    metadata = {"jupyter": jupyter, "cellView": form, "tags": sorted(tags & KEPT)}
    made = new_code_cell(cell.source, metadata={key: said for key, said in metadata.items() if said})
    if not whole:
        made.outputs, made.execution_count = cell.outputs, cell.execution_count
    return made


class Markdown:
    """Writes resolved nodes as Markdown that JupyterLab, Colab and GitHub read."""

    def __init__(self, app: Sphinx, docname: str) -> None:
        self.env, self.docname = app.env, docname
        self.numbers = app.env.toc_fignumbers.get(docname, {})
        self.sections = app.env.toc_secnumbers.get(docname, {})
        self.depth, self.in_solution = 0, False

    def number(self, kind: str, node: nodes.Element) -> str:
        """What the page calls a figure, an equation or an exercise."""
        numbers = self.numbers.get(kind, {})
        return next((dotted(numbers[name]) for name in node["ids"] if name in numbers), "")

    # Blocks: each yields pieces, Markdown or the number of a code cell.

    def pieces(self, node: nodes.Node) -> Iterator[str | int]:
        write = getattr(self, f"block_{type(node).__name__}", None)
        if write is not None:
            yield from write(node)
        elif isinstance(node, nodes.Admonition):
            yield from self.block_admonition(node)
        elif isinstance(node, nodes.Invisible | nodes.title | nodes.raw) or type(node).__name__ in SILENT:
            return
        elif isinstance(node, nodes.Inline | nodes.Text):
            yield from filter(None, [self.inline(node).strip()])
        else:
            yield from self.inner(node)

    def inner(self, node: nodes.Node) -> Iterator[str | int]:
        for child in node.children:
            yield from self.pieces(child)

    def text(self, node: nodes.Node) -> str:
        """What a node without code cells says, as one Markdown block."""
        return "\n\n".join(str(piece) for piece in self.inner(node))

    def block_section(self, node: nodes.section) -> Iterator[str | int]:
        if not isinstance(node[0], nodes.title):  # the body of an exercise, a solution, a theorem
            yield from self.inner(node)
            return
        self.depth += 1
        title = self.inline_all(node[0])
        number = dotted(self.sections.get("" if self.depth == 1 else f"#{node['ids'][0]}"))
        yield f"{'#' * self.depth} {f'{number}. ' if number else ''}{title}"
        for child in node.children[1:]:
            yield from self.pieces(child)
        self.depth -= 1

    def block_paragraph(self, node: nodes.paragraph) -> Iterator[str]:
        text = self.inline_all(node).strip()
        answer = text.removeprefix("**The answer.**")
        yield from filter(None, [text if answer == text else folded("The answer", answer.strip())])

    def block_math_block(self, node: nodes.math_block) -> Iterator[str]:
        number = self.number("displaymath", node)
        # Words, and no \\tag: JupyterLab would give the equation a second number.
        tag = f"\n\\qquad\\text{{({number})}}" if number else ""
        yield f"$$\n{node.astext().strip()}{tag}\n$$"

    def block_container(self, node: nodes.container) -> Iterator[str | int]:
        if node.get("nb_element") != "cell_code":
            yield from self.inner(node)
            return
        yield node["cell_index"]
        for figure in node.findall(nodes.figure):
            yield from self.caption(figure)

    def caption(self, figure: nodes.figure) -> Iterator[str]:
        number = self.number("figure", figure)
        words = " ".join(self.inline_all(caption) for caption in figure.findall(nodes.caption))
        if words:
            yield f"**Fig. {number}** {words}" if number else words

    block_figure = caption

    def block_bullet_list(self, node: nodes.bullet_list) -> Iterator[str]:
        yield "\n".join(item("- ", self.text(child)) for child in node.children)

    def block_enumerated_list(self, node: nodes.enumerated_list) -> Iterator[str]:
        start = node.get("start", 1)
        yield "\n".join(item(f"{k}. ", self.text(child)) for k, child in enumerate(node.children, start))

    def block_block_quote(self, node: nodes.block_quote) -> Iterator[str]:
        yield item("> ", self.text(node), "> ")

    def block_literal_block(self, node: nodes.literal_block) -> Iterator[str]:
        yield f"```{node.get('language', '')}\n{node.astext()}\n```"

    def block_table(self, node: nodes.table) -> Iterator[str]:
        rows = [
            [" ".join(self.text(entry).split()).replace("|", r"\|") for entry in row.findall(nodes.entry)]
            for row in node.findall(nodes.row)
        ]
        lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
        yield "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def block_admonition(self, node: nodes.Element) -> Iterator[str | int]:
        """A box: its title in bold; one that is closed on the page is closed here."""
        titles = (x for x in node.children if isinstance(x, nodes.title) or type(x).__name__ in SILENT)
        title = next(map(self.inline_all, titles), "") or type(node).__name__.capitalize()
        if "dropdown" in node["classes"] or not isinstance(node, nodes.Admonition):
            yield folded(title, self.text(node))
        else:
            yield f"**{title}**"
            yield from self.inner(node)

    block_dropdown_main = block_admonition

    def block_exercise_enumerable_node(self, node: nodes.Element) -> Iterator[str | int]:
        yield f"### Exercise {self.number('exercise', node)}".rstrip() + self.inline_all(node[0])
        yield from self.inner(node)

    block_exercise_node = block_exercise_enumerable_node

    def block_solution_node(self, node: nodes.Element) -> Iterator[str | int]:
        self.in_solution = True
        yield f"## {self.inline_all(node[0])}"
        yield from self.inner(node)
        self.in_solution = False

    def block_Question(self, node: nodes.Element) -> Iterator[str]:
        choices = [child for child in node.children if type(child).__name__ == "Choice"]
        yield self.inline_all(node[0])
        for child in node.children[1:]:
            if type(child).__name__ == "Reasons":
                yield "\n".join(item("- ", self.inline_all(choice)) for choice in choices)
                reasons = "\n".join(item("- ", self.text(reason)) for reason in child.children)
                yield folded("The answer, with reasons", reasons)
            elif child not in choices:
                yield from self.pieces(child)

    # Text within a line.

    def inline_all(self, node: nodes.Node) -> str:
        return "".join(self.inline(child) for child in node.children)

    def inline(self, node: nodes.Node) -> str:
        if isinstance(node, nodes.Text):
            return re.sub(r"([*`$<])", r"\\\1", node.astext()).replace("\n", " ")
        if isinstance(node, nodes.math):
            return f"${' '.join(node.astext().split())}$"
        if isinstance(node, nodes.literal):
            return f"`{node.astext()}`"
        if isinstance(node, nodes.Invisible | nodes.raw):
            return ""
        text = self.inline_all(node)
        if isinstance(node, nodes.emphasis | nodes.strong) and text:
            sign = "*" if isinstance(node, nodes.emphasis) else "**"
            return f"{sign}{text}{sign}"
        address = self.address(node) if isinstance(node, nodes.reference) else ""
        return f"[{text}]({address})" if address and text else text

    def address(self, node: nodes.reference) -> str:
        """Where a link leads from a notebook: other sites, other notebooks, pages that are published."""
        target, site = node.get("refuri", ""), self.env.config.ogp_site_url
        if re.match(r"https?:", target):
            return target
        stem = re.match(r"([\w-]+)\.html", target)
        if stem and self.env.doc2path(f"book/{stem[1]}").endswith(".ipynb"):
            return f"{stem[1]}.ipynb"
        return f"{site}book/{target}" if stem and site else ""


# Parts of the page that say nothing of their own.
SILENT = {"dropdown_title", "toctree", "index", "tabular_col_spec", "bibliography"}


def dotted(number: tuple[int, ...] | None) -> str:
    return ".".join(map(str, number or ()))


def item(mark: str, text: str, rest: str = "") -> str:
    """Text behind a mark; its further lines stand below its first."""
    first, *others = text.splitlines() or [""]
    indent = rest or " " * len(mark)
    return "\n".join([mark + first, *((indent + line).rstrip() for line in others)])


def folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"
