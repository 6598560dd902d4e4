"""Stored outputs: compared as words and numbers, kept where they agree, and nothing else is stored."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from book._tools import refresh
from book._tools.outputs import alike, differences

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("stored", "found", "same"),
    [
        ("gap 2.12 of 5", "gap 2.13 of 5", True),  # a tie: 2.125
        ("gap 2.12 of 5", "gap 2.14 of 5", False),
        ("gap 2.12 of 5", "gaps 2.12 of 5", False),
        ("12 networks", "13 networks", False),
        ("[ 0.1  -0.  ]", "[0.1 0. ]", True),
        ("[[-0.01  1.3 ]\n [ 2.   0.  ]]", "[[0.   1.31] [2.   0.  ]]", True),
        ("[0.1 0.2]", "[0.1]", False),
        ("0.12", "-0.12", False),
        ("−0.31", "-0.31", True),
        ("9.9e-06 and 2e+03", "1e-05 and 2e3", True),
        ("9.9e-06", "9.7e-06", False),
        ("nan -inf", "nan  -inf", True),
        ("nan", "0.1", False),
        ("inf", "-inf", False),
    ],
)
def test_outputs_are_compared_as_words_and_numbers(stored, found, same):
    assert alike(stored, found) == same


def checked(source: str, printed: str) -> nbformat.NotebookNode:
    tags = {"tags": [refresh.CHECKED]}
    return new_code_cell(source, outputs=[stream(printed)], execution_count=2, metadata=tags)


def stream(text: str, name: str = "stdout") -> nbformat.NotebookNode:
    return new_output("stream", name=name, text=text)


def test_a_warning_or_another_kind_of_output_is_a_difference_and_a_chopped_stream_is_none():
    assert differences([stream("error 0.25\n")], [stream("error "), stream("0.25\n")]) == []
    for now in (
        [stream("error 0.25\n"), stream("warning", "stderr")],
        [new_output("execute_result", {"text/plain": "error 0.25"})],
        [],
    ):
        assert differences([stream("error 0.25\n")], now)


def test_refresh_keeps_compared_text_and_nothing_else():
    stream = new_output("stream", name="stdout", text="0.5\n")
    result = new_output("execute_result", {"text/plain": "1", "text/html": "<b>1</b>"}, execution_count=9)
    picture = new_output("display_data", {"image/png": "abc"})
    compared = new_code_cell("a", outputs=[stream, result, picture], execution_count=9)
    compared.metadata.tags = [refresh.CHECKED]
    other = new_code_cell("b", outputs=[stream], execution_count=4)
    notebook = new_notebook(cells=[new_markdown_cell("t"), compared, other])
    notebook.metadata = {"onestep": {"symbols": ["m_1"]}, "widgets": {}}
    refresh.strip(notebook)
    nbformat.validate(notebook)
    assert notebook.metadata == refresh.METADATA | {"onestep": {"symbols": ["m_1"]}}
    kept = notebook.cells[1]
    assert [output.output_type for output in kept.outputs] == ["stream", "execute_result"]
    assert dict(kept.outputs[1].data) == {"text/plain": "1"}
    assert kept.execution_count == kept.outputs[1].execution_count == 2
    assert notebook.cells[2].outputs == []
    assert notebook.cells[2].execution_count is None


def test_nbval_lets_a_tie_pass_and_nothing_more(tmp_path):
    cells = [checked("print(2.13)", "2.12\n"), checked("print(2.2)", "2.12\n"), checked("print('a')", "b\n")]
    nbformat.write(new_notebook(cells=cells, metadata=refresh.METADATA), tmp_path / "a.ipynb")
    options = [
        "--nbval-lax",
        "--nbval-current-env",
        "-p",
        "book._tools.nbval_numbers",
        "-W",
        "default",
        "-c",
        ROOT / "pyproject.toml",
    ]
    command = [sys.executable, "-m", "pytest", "-q", *options, f"--rootdir={tmp_path}", tmp_path]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert "2 failed, 1 passed" in said
    assert "2.2" in said


def test_a_refreshed_notebook_keeps_what_agrees_with_its_stored_output(tmp_path, monkeypatch):
    path = tmp_path / "chapter.ipynb"
    cell = new_code_cell(
        "a", outputs=[stream("ü 2.12\n")], execution_count=2, metadata={"tags": [refresh.CHECKED]}
    )
    nbformat.write(new_notebook(cells=[new_markdown_cell("t"), cell], metadata=refresh.METADATA), path)

    def answer(text: str) -> str:
        def execute(client: NotebookClient) -> None:
            client.nb.cells[1].outputs = [stream(text)]

        monkeypatch.setattr(NotebookClient, "execute", execute)
        refresh.refresh(path)
        return nbformat.read(path, as_version=4).cells[1].outputs[0].text

    assert answer("ü 2.13\n") == "ü 2.12\n"
    assert answer("ü 2.14\n") == "ü 2.14\n"
