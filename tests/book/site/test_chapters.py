"""The chapters as the build ran them: no cell raised, and the numbers are those that are stored.

The build has run each cell in a fresh kernel; running all again would tell nothing new. `make check` runs
them once more, with nbval, where explorers are live as in JupyterLab.
"""

from collections import defaultdict
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from pages import CHAPTERS, ROOT, SITE

from book._tools.refresh import CHECKED

NOTEBOOKS = [page.replace(".html", ".ipynb") for page in ["book/intro.html", *CHAPTERS]]


def code_of(notebook: Path) -> list[NotebookNode]:
    return [c for c in nbformat.read(notebook, as_version=4).cells if c.cell_type == "code"]


@cache
def code_cells(path: str) -> list[NotebookNode]:
    return code_of(ROOT / path)


@cache
def executed() -> list[list[NotebookNode]]:
    """The notebooks that the build has run or, where nothing changed, had run before; the last one first."""
    kept = SITE.parent.glob(".chapters/*/executed/*/base.ipynb")
    return [code_of(path) for path in sorted(kept, key=lambda path: -path.stat().st_mtime)]


def built_cells(path: str) -> list[NotebookNode]:
    """The executed cells that are the notebook's; fails if the build ran none that is.

    A chapter of which a caption has changed is kept twice, with the same code.
    """
    sources = [cell.source for cell in code_cells(path)]
    return next(cells for cells in executed() if [cell.source for cell in cells] == sources)


def told(outputs: list[NotebookNode]) -> dict[str, list[str]]:
    """What a cell prints and shows: the words of each stream, results by their type."""
    said: dict[str, list[str]] = defaultdict(list)
    for output in outputs:
        if output.output_type == "stream":
            said[output.name] += output.text.split()
        for kind, content in output.get("data", {}).items():
            said[kind].append(content)
    return said


def raised(cells: list[NotebookNode]) -> list[str]:
    return [f"{o.ename}: {o.evalue}" for cell in cells for o in cell.outputs if o.output_type == "error"]


def changed(stored: list[NotebookNode], built: list[NotebookNode]) -> list[tuple[dict, dict]]:
    """What checked cells told when it was stored, and what they tell now, where the two differ."""
    pairs = [
        (told(s.outputs), told(b.outputs))
        for s, b in zip(stored, built, strict=True)
        if CHECKED in s.metadata.get("tags", [])
    ]
    return [pair for pair in pairs if pair[0] != pair[1]]


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_the_build_ran_every_cell_of_this_notebook(site, path):
    assert [c.source[:60] for c in built_cells(path) if c.source.strip() and c.execution_count is None] == []


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_no_cell_raised(site, path):
    assert raised(built_cells(path)) == []


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_checked_cells_tell_what_is_stored(site, path):
    assert any(CHECKED in cell.metadata.get("tags", []) for cell in code_cells(path))
    assert changed(code_cells(path), built_cells(path)) == []


def test_another_number_a_warning_and_an_error_are_reported():
    def cell(*outputs: NotebookNode) -> NotebookNode:
        return nbformat.v4.new_code_cell("", metadata={"tags": [CHECKED]}, outputs=list(outputs))

    def stream(text: str, name: str = "stdout") -> NotebookNode:
        return nbformat.v4.new_output("stream", name=name, text=text)

    one, parts = cell(stream("error 0.25\n")), cell(stream("error "), stream("0.25\n"))
    assert changed([one], [one]) == []
    # However the kernel chopped it.
    assert changed([parts], [one]) == []
    assert changed([one], [cell(stream("error 0.26\n"))]) != []
    assert changed([one], [cell(stream("error 0.25\n"), stream("warning", "stderr"))]) != []
    assert changed([one], [cell(nbformat.v4.new_output("execute_result", {"text/plain": "0.25"}))]) != []
    assert changed([one], [cell()]) != []
    assert raised([one, cell(nbformat.v4.new_output("error", ename="ValueError", evalue="no"))]) != []
