"""The lab of three chapters in a real JupyterLab: formula, mistake, networks, export; and ipywidgets 7."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
RUN = """() => {
  const notebook = jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = notebook.widgets.findIndex(
    c => c.model.type === 'code' && /\\blab\\(/.test(c.model.sharedModel.getSource()));
  notebook.deselectAll();
  jupyterapp.commands.execute('notebook:run-cell');
}"""


@pytest.mark.parametrize("name", ["01-the-question", "08-spikes-in-the-features", "12-what-one-step-learns"])
def test_a_reader_types_runs_stops_and_takes_away(opened, name):
    page = opened(f"book/{name}.ipynb")
    page.evaluate(RUN)
    said, picture = page.locator("[role=status]"), page.locator("img.onestep-picture")
    picture.wait_for()

    def type_in(field: str, text: str) -> None:
        page.get_by_label(field, exact=True).fill(text)
        page.keyboard.press("Enter")

    for field, text in {"n": "60", "d": "30", "N": "45"}.items():
        type_in(field, text)
    type_in("activation", "tanh(z")
    page.wait_for_function("() => /is no formula/.test(document.querySelector('[role=status]').innerText)")
    before = picture.get_attribute("src")
    type_in("activation", "tanh(z) + He_2/5")
    page.wait_for_function("old => document.querySelector('img.onestep-picture').src !== old", arg=before)
    type_in("networks", "1000")
    page.get_by_role("button", name="Run networks").click()
    page.wait_for_function("() => /networks a dot/.test(document.querySelector('[role=status]').innerText)")
    stop = page.get_by_role("button", name="Stop")
    stop.click()
    page.wait_for_function("() => document.querySelector('.jupyter-button[disabled]')?.innerText === 'Stop'")
    draws = int(re.search(r"(\d+) networks a dot", said.inner_text())[1])
    assert 2 <= draws < 1000
    assert "tanh(z) + He_2/5" in page.get_by_label("state", exact=True).input_value()
    table = page.get_by_role("link", name="table as CSV").get_attribute("href")
    assert table.startswith("data:")
    page.get_by_text("as code", exact=True).click()
    code = page.locator("pre", has_text="formula_activation").text_content()
    assert "formula_activation('tanh(z) + He_2/5')" in code


def test_widgets_of_the_version_that_colab_has(tmp_path):
    """ipywidgets 7: the panel is made, computes, runs, stops and refuses as with 8."""
    uv = [sys.executable, "-m", "uv"]
    subprocess.run([*uv, "venv", "--quiet", "--python", sys.executable, tmp_path / "seven"], check=True)
    python = tmp_path / "seven" / "bin" / "python"
    wanted = ["-e", ".", "ipywidgets<8", "ipykernel", "nbclient", "pytest", "hypothesis"]
    install = [*uv, "pip", "install", "--quiet", "--system-certs", "--python", python, *wanted]
    subprocess.run(install, check=True, cwd=ROOT)
    version = subprocess.run(
        [python, "-c", "import json, ipywidgets; print(json.dumps(ipywidgets.__version__))"],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(version.stdout).startswith("7.")
    command = [python, "-m", "pytest", "-q", "tests/figures/test_laboratory.py", "-k", "widgets_run"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "1 passed" in ended.stdout, ended.stdout + ended.stderr
