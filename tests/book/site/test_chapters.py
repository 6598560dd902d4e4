"""The chapters as the build ran them: no cell raised, and the numbers are those that are stored.

The build has run each cell in a fresh kernel; running all again would tell nothing new. `make check` runs
them once more, with nbval, where explorers are live as in JupyterLab.
"""

from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from pages import READ, ROOT, SITE

from book._tools.outputs import differences
from book._tools.refresh import CHECKED

NOTEBOOKS = [name for page in READ if (ROOT / (name := page.replace(".html", ".ipynb"))).exists()]


def code_of(notebook: Path) -> list[NotebookNode]:
    return [c for c in nbformat.read(notebook, as_version=4).cells if c.cell_type == "code"]


@cache
def executed() -> list[list[NotebookNode]]:
    """The notebooks that the build has run or, where nothing changed, had run before; the last one first."""
    kept = SITE.parent.glob(".chapters/*/executed/*/base.ipynb")
    return [code_of(path) for path in sorted(kept, key=lambda path: -path.stat().st_mtime)]


def faults(stored: list[NotebookNode], built: list[NotebookNode]) -> list[str]:
    """Cells that did not run, that raised, and checked ones that tell something else than what is stored."""
    found = []
    for cell, run in zip(stored, built, strict=True):
        wrong = [f"{o.ename}: {o.evalue}" for o in run.outputs if o.output_type == "error"]
        if run.source.strip() and run.execution_count is None:
            wrong.append("has not run")
        if CHECKED in cell.metadata.get("tags", []):
            wrong += differences(cell.outputs, run.outputs)
        found += [f"{cell.source[:60]!r}: {fault}" for fault in wrong]
    return found


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_every_cell_ran_and_tells_what_is_stored(site, path):
    stored = code_of(ROOT / path)
    sources = [cell.source for cell in stored]
    # A chapter of which a caption has changed is kept twice, with the same code.
    built = next((run for run in executed() if [cell.source for cell in run] == sources), None)
    assert built is not None, "the build has not run these cells"
    assert faults(stored, built) == []


def test_a_cell_that_raised_did_not_run_or_tells_another_number_is_reported():
    def cell(text: str, count: int | None = 1) -> NotebookNode:
        stream = nbformat.v4.new_output("stream", name="stdout", text=text)
        tags = {"tags": [CHECKED]}
        return nbformat.v4.new_code_cell("a", metadata=tags, outputs=[stream], execution_count=count)

    assert faults([cell("0.25")], [cell("0.26")]) == []
    raised = cell("0.25")
    raised.outputs.append(nbformat.v4.new_output("error", ename="ValueError", evalue="no"))
    for built in (cell("0.27"), cell("0.25", None), raised):
        assert len(faults([cell("0.25")], [built])) == 1
