"""Assignments as lists of cells, run in a plain namespace, and the bank of right and wrong answers.

A bank file holds answers to the tasks of one assignment, `bank/<assignment>.txt`, in sections:

    # %% task, right: what is different about it
    # %% task, wrong: what is wrong with it | words of the message that must stop it
    # %% task, copied: how it gets along without solving the task | words of a message

A wrong answer is the sheet's own, with every `old => new` put in; the others are code.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import nbformat

from book._tools import assignments as made
from book._tools import checks

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "book" / "assignments"
BANK = Path(__file__).parent / "bank"
SECTION = re.compile(r"^# %% (\w+), (right|wrong|copied): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Answer:
    task: str
    kind: str
    name: str
    message: str
    code: str


def assignments() -> list[str]:
    return sorted(path.stem for path in SOURCES.glob("*.ipynb"))


def source(name: str, seed: str | None = None) -> nbformat.NotebookNode:
    return made.variant(SOURCES / f"{name}.ipynb", seed)


def kind(cell: nbformat.NotebookNode) -> str:
    """ "answer" (solved by the student), "test" (graded by its assertions), "other"."""
    about = cell.metadata.get("nbgrader", {})
    return "answer" if about.get("solution") else "test" if about.get("grade") else "other"


def code_cells(name: str, seed: str | None = None) -> list[nbformat.NotebookNode]:
    return [cell for cell in source(name, seed).cells if cell.cell_type == "code"]


def own(name: str, task: str) -> str:
    """The sheet's own answer."""
    return next(made.MARK.sub("", cell.source) for cell in code_cells(name) if made.name(cell) == task)


def answers(name: str) -> list[Answer]:
    parts = SECTION.split((BANK / f"{name}.txt").read_text(encoding="utf-8"))[1:]
    found = []
    for task, sort, head, code in zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True):
        title, _, message = (part.strip() for part in head.partition("|"))
        if sort == "wrong":
            patches, code = code.strip("\n").splitlines(), own(name, task)
            for patch in patches:
                old, _, new = patch.partition(" =>")
                assert old in code, (task, title, old)
                code = code.replace(old, new.removeprefix(" "))
        found.append(Answer(task, sort, title, message, code))
    return found


def tasks(name: str) -> list[str]:
    """Answers that tests grade; figures and essays are graded by a reader."""
    cells = code_cells(name)
    return [
        made.name(cell) for cell, after in pairwise(cells) if kind(cell) == "answer" and kind(after) == "test"
    ]


def run(code: str, space: dict) -> None:
    exec(compile(checks.plain(code), "<cell>", "exec"), space)


def before(name: str, task: str, states: dict) -> tuple[dict, list[nbformat.NotebookNode]]:
    """The names that exist when a task is met, all earlier ones solved, and the tests of the task."""
    cells = code_cells(name)
    at = next(k for k, cell in enumerate(cells) if made.name(cell) == task)
    tests = []
    for cell in cells[at + 1 :]:
        if kind(cell) != "test":
            break
        tests.append(cell)
    if (name, task) not in states:
        state: dict = {}
        for cell in cells[:at]:
            if kind(cell) != "test":
                run(made.MARK.sub("", cell.source), state)
        states[name, task] = state
    return dict(states[name, task]), tests


def graded(name: str, task: str, code: str, states: dict) -> tuple[dict[str, checks.Verdict], dict[str, int]]:
    """What the tests of a task say of an answer, and how many points each has."""
    space, tests = before(name, task, states)
    run(code, space)
    verdicts = {made.name(test): checks.check(test.source, space) for test in tests}
    return verdicts, {made.name(test): test.metadata.nbgrader.points for test in tests}
