"""Chapters as a reader of Binder meets them: opened, run from top to bottom, the first explorer moved.

Three of them: the first, the first that holds a panel that simulates, and the last. nbval runs all.
"""

import time
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[3]
CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]-*.ipynb"))
LIVE = [path for path in CHAPTERS if "lab(" in path.read_text("utf-8")]
SECONDS = 60  # budget on one core; a busy machine may take three times as long before the test fails
MEMORY = 1e9

CELLS = """() => {
  const notebook = window.jupyterapp.shell.currentWidget.content;
  return notebook.widgets.filter(c => c.model.type === 'code').map(c => ({
    count: c.model.executionCount,
    state: c.model.executionState ?? '',
    source: c.model.sharedModel.getSource(),
    errors: c.model.outputs.toJSON().filter(o => o.output_type === 'error').map(o => o.evalue),
  }));
}"""


@pytest.mark.parametrize("name", [path.name for path in (CHAPTERS[0], *LIVE[:1], CHAPTERS[-1])])
def test_chapter_runs_and_its_explorer_moves(opened, lab, name):
    page = opened(f"book/{name}")
    seconds, memory = run_all(page, lab)
    print(f"\n{name}: {seconds:.1f} s, {memory / 1e6:.0f} MB at the most")
    cells = page.evaluate(CELLS)
    assert [cell for cell in cells if cell["errors"]] == []
    assert [c["source"][:60] for c in cells if c["source"].strip() and c["count"] is None] == []
    assert memory <= MEMORY
    assert seconds <= 3 * SECONDS
    move_a_control(page)


def run_all(page, lab) -> tuple[float, float]:
    """Run every cell; seconds it took and the largest resident memory of the kernel on the way."""
    start, memory = time.monotonic(), 0.0
    page.evaluate(
        "() => { window.finished = false;"
        " jupyterapp.commands.execute('notebook:run-all-cells').then(() => { window.finished = true; }); }"
    )
    while not page.evaluate("() => window.finished"):
        memory = max(memory, kernel_memory(lab))
        assert time.monotonic() - start < 4 * SECONDS, "the run does not end"
        time.sleep(0.1)
    return time.monotonic() - start, memory


def kernel_memory(lab) -> float:
    """Resident bytes of everything that JupyterLab started."""
    total = 0
    for process in psutil.Process(lab.process).children(recursive=True):
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return float(total)


def move_a_control(page) -> None:
    """An arrow key moves the first explorer's slider, radio buttons or list, and its picture changes."""
    explorer = page.locator(".jp-Notebook .onestep-explorer").first
    control = explorer.locator("input[type=range], input:checked, select").first
    control.scroll_into_view_if_needed()
    # An explorer may have several controls: the values of all.
    position = "box => [...box.querySelectorAll('input[type=range], :checked')].map(one => one.value).join()"
    value, picture = explorer.evaluate(position), explorer.inner_html()
    control.focus()
    page.keyboard.press("ArrowRight")
    if explorer.evaluate(position) == value:  # it stood at its end
        page.keyboard.press("ArrowLeft")
    assert explorer.evaluate(position) != value
    page.wait_for_timeout(500)
    assert explorer.inner_html() != picture
