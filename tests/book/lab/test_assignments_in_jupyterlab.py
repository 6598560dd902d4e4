"""Every assignment as a student meets it in Binder: opened, run unanswered, and with the author's answers."""

from pathlib import Path

import nbformat
import pytest
from test_chapters_in_jupyterlab import CELLS, SECONDS, run_all

ROOT = Path(__file__).resolve().parents[3]
GIVEN = sorted((ROOT / "book" / "coursework").glob("*.ipynb"))
STOPPED = """() => jupyterapp.shell.currentWidget.content.widgets.filter(c => c.model.type === 'code')
  .flatMap(c => c.model.outputs.toJSON()).filter(o => o.output_type === 'error').map(o => o.ename)"""
FILL = """answers => {
  const cells = jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model);
  const found = cells.filter(cell => answers[cell.getMetadata('nbgrader')?.grade_id] !== undefined);
  found.forEach(cell => cell.sharedModel.setSource(answers[cell.getMetadata('nbgrader').grade_id]));
  return found.length;
}"""


def answers_to(path: Path) -> dict[str, str]:
    """The author's code for the cells that a student fills in."""
    source = nbformat.read(ROOT / "book" / "assignments" / path.name, as_version=4)
    return {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in source.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
    }


@pytest.mark.parametrize("path", GIVEN, ids=lambda path: path.stem)
def test_assignment_asks_to_be_answered_and_can_be(opened, lab, path):
    page = opened(f"book/coursework/{path.name}")
    run_all(page, lab)
    # The kernel drops its queue when a cell fails; a cell that JupyterLab sends after that runs too.
    stopped = page.evaluate(STOPPED)
    assert stopped[:1] == ["NotImplementedError"], stopped

    answers = answers_to(path)
    assert page.evaluate(FILL, answers) == len(answers) >= 3
    seconds, memory = run_all(page, lab)
    print(f"\n{path.name}: {seconds:.1f} s with answers, {memory / 1e6:.0f} MB at the most")
    cells = page.evaluate(CELLS)
    assert [cell for cell in cells if cell["errors"]] == []
    assert [c["source"][:60] for c in cells if c["source"].strip() and c["count"] is None] == []
    assert seconds <= 3 * SECONDS
    if any("plt." in code for code in answers.values()):  # the figure that a reader grades
        assert page.locator(".jp-OutputArea-output img").count() >= 1
