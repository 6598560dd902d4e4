"""A class of submissions for the pipeline: right, wrong, hostile. Each is made from the student version."""

import json
from pathlib import Path

import nbformat
import sheets

HOSTILE = {
    "endless": "while True:\n    pass",
    "stubborn": "while True:\n    try:\n        while True:\n            pass\n"
    "    except BaseException:\n        pass",
    "greedy": "hoard = [0] * 10**12",
    "greedy-array": "import numpy as np\nhoard = np.ones(10**10)",
    "quits": "import os\nos._exit(1)",
    "exits": "import sys\nsys.exit(3)",
    "loud": "for _ in range(1000):\n    print('x' * 100_000)",
    "loud-file": "import os\nfor _ in range(1000):\n    os.write(1, b'x' * 100_000)",
    "writes": "with open('large.bin', 'wb') as file:\n    while True:\n        file.write(bytes(10**6))",
    "closes": "import os\nos.closerange(0, 1000)",
    "empties": "import os, shutil\nshutil.rmtree(os.getcwd(), ignore_errors=True)",
    "transforms": "get_ipython().input_transformers_cleanup.append(lambda lines: ['raise SystemExit'])",
    "answers-wrongly": "import json\njson.dumps = lambda *_: 'no JSON'",
}
# These reach for what is not theirs; in the sandbox there is nothing to reach.
REACHING = {
    "calls-out": "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=1)",
    "reads-source": "from pathlib import Path\nplaces = Path('@COURSE'), Path('@ROOT/book')\n"
    "print('seen', sum(path.suffix == '.ipynb' for place in places for path in place.rglob('*')))",
    "writes-gradebook": "open('@COURSE/gradebook.db', 'ab').write(b'x')",
    "forks": "import subprocess, sys\ncode = 'import time; time.sleep(3600)'\n"
    "subprocess.Popen([sys.executable, '-c', code, '@MARK'], env={}, start_new_session=True)",
    "kills-parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
}
SCORES = {"transforms": 0}  # only its own answers are changed
MARK = "one-gradient-step-left-behind"
FATAL = {"stubborn", "quits", "closes", "answers-wrongly"}  # after these there is nobody left to ask
# Unanswered, but the tests are to be talked into it.
TRICKS = {
    "frames": "import inspect\n\n\ndef ridge(F, y, penalty):\n    for frame in inspect.stack():\n"
    "        if 'right' in frame.frame.f_globals | frame.frame.f_locals:\n"
    "            return (frame.frame.f_globals | frame.frame.f_locals)['right']\n",
    "equals": "import numpy as np\nnp.all = np.abs = lambda *_: True\n\n\n"
    "def ridge(F, y, penalty):\n    return np.zeros(F.shape[1])\n",
}
FIRST = "hermite_coefficients"


def notebook(course: Path, name: str) -> nbformat.NotebookNode:
    return nbformat.read(course / "release" / name / f"{name}.ipynb", as_version=4)


def solve(
    book: nbformat.NotebookNode, name: str, wrong: dict[str, str] | None = None
) -> nbformat.NotebookNode:
    """Fill in the source's own answers, or others for the cells that `wrong` names."""
    from book._tools.assignments import MARK

    own = {
        cell.metadata.nbgrader.grade_id: MARK.sub("", cell.source)
        for cell in nbformat.read(sheets.SOURCES / f"{name}.ipynb", as_version=4).cells
        if cell.metadata.get("nbgrader", {}).get("solution")
    } | (wrong or {})
    for cell in book.cells:
        label = cell.metadata.get("nbgrader", {}).get("grade_id")
        if label in own:
            cell.source = own[label]
    return book


def save(book: nbformat.NotebookNode, folder: Path, student: str, file: str) -> None:
    (folder / student).mkdir(parents=True, exist_ok=True)
    (folder / student / file).write_text(json.dumps(book), encoding="utf-8")


def cell_of(book: nbformat.NotebookNode, label: str) -> int:
    return next(
        k for k, cell in enumerate(book.cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == label
    )


def wrong(name: str, task: str, title: str) -> str:
    return next(a.code for a in sheets.answers(name) if (a.task, a.name) == (task, title))


def make(course: Path, folder: Path, name: str) -> dict[str, float | None]:
    """Write a class and return the scores by tests that it must get; None: a manual grade."""
    file, expected = f"{name}.ipynb", {}

    def hand_in(student: str, book: nbformat.NotebookNode, score: float | None, called: str = file) -> None:
        save(book, folder, student, called)
        expected[student] = score

    def fresh() -> nbformat.NotebookNode:
        return solve(notebook(course, name), name)

    for k in range(6):
        hand_in(f"right-{k}", fresh(), 18)
    hand_in("nothing", notebook(course, name), 0)
    for student, task, title, score in (
        ("wrong-factor", "hermite_coefficients", "not divided by k!", 15.5),
        ("wrong-lambda", "ridge", "the 1/n forgotten", 15.5),  # and nothing in the three tests that use it
        ("wrong-visible-only", "hermite_coefficients", "knows the visible case only", 15),
    ):
        hand_in(student, solve(notebook(course, name), name, {task: wrong(name, task, title)}), score)
    places = {"@COURSE": str(course), "@ROOT": str(sheets.ROOT), "@MARK": MARK}
    for kind, code in (HOSTILE | REACHING).items():
        for sign, place in places.items():
            code = code.replace(sign, place)
        book = fresh()
        book.cells.insert(cell_of(book, FIRST), nbformat.v4.new_code_cell(code))
        hand_in(f"hostile-{kind}", book, None if kind in FATAL else SCORES.get(kind, 18))
    for kind, code in TRICKS.items():
        book = notebook(course, name)
        book.cells[cell_of(book, "ridge")].source = code
        hand_in(f"trick-{kind}", book, 0)
    book = fresh()
    del book.cells[cell_of(book, "test_ridge_hidden")]
    hand_in("deleted-test", book, 18)
    book = fresh()
    del book.cells[cell_of(book, "ridge")]
    hand_in("deleted-answer", book, 13)
    book = fresh()
    book.cells.insert(0, nbformat.from_dict(book.cells[cell_of(book, "test_ridge_visible")]))
    book.cells.append(nbformat.from_dict(book.cells[cell_of(book, "ridge")]))
    hand_in("doubled", book, 18)
    book = notebook(course, name)
    for cell in book.cells:
        if cell.metadata.get("nbgrader", {}).get("grade"):
            cell.source = "pass"
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "feedback":
            cell.source = "def compare(*anything):\n    pass"
    hand_in("changed-tests", book, 0)
    hand_in("renamed", fresh(), 18, called="Assignment 1 (final) v2.ipynb")
    book = fresh()
    book.metadata.kernelspec = {"name": "octave", "display_name": "Octave"}
    hand_in("other-kernel", book, 18)
    (folder / "torn").mkdir()
    (folder / "torn" / file).write_text(json.dumps(fresh())[:5000], encoding="utf-8")
    (folder / "empty").mkdir()
    (folder / "device").mkdir()
    (folder / "device" / file).symlink_to("/dev/zero")
    return expected | {"torn": None, "empty": None, "device": None}
