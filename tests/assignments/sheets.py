"""Assignments as lists of cells, run in a plain namespace, and the bank of right and wrong answers.

A bank file holds the answers to one cell, `bank/<assignment>/<grade_id>.py`, in sections:

    # %% right: what is different about it
    # %% wrong: what is wrong with it | words of the message that must stop it
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "book" / "assignments"
BANK = Path(__file__).parent / "bank"
SECTION = re.compile(r"^# %% (right|wrong): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    task: str
    right: bool
    name: str
    message: str
    code: str


@dataclass(frozen=True)
class Cell:
    grade_id: str
    kind: str  # "answer" (solved by the student), "test" (graded by its assertions), "other"
    code: str


def assignments() -> list[str]:
    return sorted(path.stem for path in SOURCES.glob("*.ipynb"))


def code_cells(name: str) -> list[Cell]:
    """The code cells of an assignment, as plain Python."""
    notebook = nbformat.read(SOURCES / f"{name}.ipynb", as_version=4)
    found = []
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "code":
            kind = "answer" if about.get("solution") else "test" if about.get("grade") else "other"
            found.append(Cell(about.get("grade_id", ""), kind, plain(cell.source)))
    return found


def plain(source: str) -> str:
    """A cell without the commands of IPython."""
    return re.sub(r"^(\s*)%.*$", r"\1pass", source, flags=re.MULTILINE)


def answers(name: str, task: str) -> list[Answer]:
    """The bank's answers to one task."""
    parts = SECTION.split((BANK / name / f"{task}.py").read_text(encoding="utf-8"))[1:]
    found = []
    for kind, head, code in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        title, _, message = (part.strip() for part in head.partition("|"))
        found.append(Answer(task, kind == "right", title, message, code))
    return found


def tasks(name: str) -> list[str]:
    """Answers that tests grade; figures and essays are graded by a reader."""
    cells = code_cells(name)
    return [
        cell.grade_id for cell, after in pairwise(cells) if cell.kind == "answer" and after.kind == "test"
    ]


def run(code: str, namespace: dict) -> None:
    exec(compile(code, "<cell>", "exec"), namespace)


def before(name: str, task: str, states: dict) -> tuple[dict, list[str]]:
    """The names that exist when a task is met, all earlier ones solved, and the tests of the task."""
    cells = code_cells(name)
    at = next(k for k, cell in enumerate(cells) if cell.grade_id == task)
    tests = []
    for cell in cells[at + 1 :]:
        if cell.kind == "answer":
            break
        if cell.kind == "test":
            tests.append(cell.code)
        elif not tests:
            tests.append(cell.code)  # a given cell between the answer and its tests
    if (name, task) not in states:
        state: dict = {}
        for cell in cells[:at]:
            if cell.kind != "test":
                run(cell.code, state)
        states[name, task] = state
    return dict(states[name, task]), tests
