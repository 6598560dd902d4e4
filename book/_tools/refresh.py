"""Run chapters and store only what their tests compare.

    python -m book._tools.refresh [notebook ...]

Each notebook is executed in its own folder. Text outputs stay in the cells tagged
`nbval-check-output`; every other output and execution count is removed, so that a commit holds
no picture and no number that nothing checks. An output that says what is stored stays as it is, so that
another processor's last digits are no change.
"""

import sys
from pathlib import Path

import nbformat

from book._tools.chapters import run
from book._tools.outputs import differences

CHAPTERS = Path(__file__).resolve().parents[1]
CHECKED = "nbval-check-output"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def refresh(path: Path) -> None:
    """Execute one notebook and rewrite it with checked outputs only."""
    stored = [cell.get("outputs", []) for cell in nbformat.read(path, as_version=4).cells]
    _, result = run(path)
    if result.err is not None:
        raise result.err
    strip(result.nb, stored)
    nbformat.validate(result.nb)
    path.write_text(nbformat.writes(result.nb) + "\n", "utf-8")


def strip(notebook: nbformat.NotebookNode, stored: list[list[nbformat.NotebookNode]] | None = None) -> None:
    """Remove, in place, every output and execution count that no test compares.

    What agrees with the outputs that were `stored`, a list for each cell, is replaced by them.
    """
    # What a chapter says of itself (minutes, symbols, terms, needs) stays.
    own = {key: value for key, value in notebook.metadata.items() if key == "onestep"}
    notebook.metadata = nbformat.from_dict(METADATA | own)
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"cell-{number:03d}"
        if cell.cell_type != "code":
            continue
        checked = CHECKED in cell.metadata.get("tags", [])
        cell.outputs = [text_only(o) for o in cell.outputs if is_text(o)] if checked else []
        if stored and not differences(stored[number - 1], cell.outputs):
            cell.outputs = stored[number - 1]
        cell.execution_count = number if cell.outputs else None
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number


def is_text(output: nbformat.NotebookNode) -> bool:
    return output.get("name") == "stdout" or "text/plain" in output.get("data", {})


def text_only(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if "data" in output:
        output.data, output.metadata = {"text/plain": output.data["text/plain"]}, {}
    return output


def main(arguments: list[str]) -> None:
    paths = [Path(a) for a in arguments] or sorted(CHAPTERS.glob("[0-9][0-9]-*.ipynb"))
    for path in paths:
        print(f"running {path}", flush=True)
        refresh(path.resolve())


if __name__ == "__main__":
    main(sys.argv[1:])
