"""The whole way of a class through nbgrader: made, handed in, repaired, graded, told, written to a table."""

import csv
import json
import re
import shutil
import subprocess
import sys
import time
import zipfile

import class_of
import nbformat
import numpy as np
import psutil
import pytest
import sheets

pytest.importorskip("nbgrader", reason="the grading tools are not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # nbgrader's and SQLAlchemy's own deprecations

from book._tools import assignments, grading, handed_in, kernel, sandbox  # noqa: E402

FIRST = "01-hermite-and-random-features"


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    assignments.make(folder)
    return folder


def test_student_versions_hold_no_answer_and_no_hidden_test(made):
    for name in sheets.assignments():
        text = (made / "student" / f"{name}.ipynb").read_text(encoding="utf-8")
        for word in ("SOLUTION", "HIDDEN", "secret", "# variant", "fmt: skip"):
            assert word not in text, (name, word)
        source = sheets.source(name)
        student = nbformat.read(made / "student" / f"{name}.ipynb", as_version=4)
        answers = [c for c in student.cells if c.metadata.get("nbgrader", {}).get("solution")]
        assert len(answers) == sum(bool(c.metadata.get("nbgrader", {}).get("solution")) for c in source.cells)
        assert all("YOUR " in cell.source for cell in answers)


def test_copies_on_the_site_are_what_the_sources_make(made):
    """`python -m book._tools.assignments --publish` writes them."""
    published = sheets.ROOT / assignments.PUBLISHED
    assert sorted(p.stem for p in published.glob("*.ipynb")) == sheets.assignments()
    for path in published.glob("*.ipynb"):
        here, there = (nbformat.read(p, as_version=4) for p in (path, made / "student" / path.name))
        assert [c.source for c in here.cells] == [c.source for c in there.cells], (
            f"{path.name} is out of date"
        )


def test_zip_and_solutions(made):
    with zipfile.ZipFile(made / assignments.ARCHIVE) as archive:
        assert len(archive.namelist()) == len(sheets.assignments())
    for name in sheets.assignments():
        text = (made / "solutions" / f"{name}.ipynb").read_text(encoding="utf-8")
        assert "### BEGIN" not in text
        assert "secret = np.random" in text  # the hidden tests are there to read
    lines = (made / "course" / "variant.txt").read_text(encoding="utf-8").splitlines()
    assert f"{FIRST}: n = 60" in lines
    assert not any("variant" in line for line in lines)


def test_points_on_the_sheet_are_the_points_of_the_cells():
    for name in sheets.assignments():
        notebook = sheets.source(name)
        tests, reader = assignments.points(notebook)
        line = f"**Points** {tests + reader}, of which {tests} are graded by tests and {reader} by a reader"
        assert line in notebook.cells[0].source, name


def test_repair_puts_back_what_was_deleted_and_doubled(made):
    release = class_of.notebook(made / "course", FIRST)
    labels = [assignments.name(cell) for cell in release.cells if assignments.name(cell)]
    broken = class_of.notebook(made / "course", FIRST)
    del broken.cells[class_of.cell_of(broken, "test_ridge_hidden")]
    broken.cells.append(nbformat.from_dict(broken.cells[class_of.cell_of(broken, "ridge")]))
    repaired, notes = handed_in.repair(json.dumps(broken), release)
    assert sorted(filter(None, map(assignments.name, repaired.cells))) == sorted(labels)
    assert notes == ["ridge stood there 2 times", "test_ridge_hidden was missing"]


def test_what_an_answer_returns_passes_as_values():
    peer = kernel.Peer(None, None)
    answer = {"eigen": np.linalg.eigh(np.eye(2, dtype=np.float32)), "more": [(1, "a"), None, np.uint8(3)]}
    passed = {key: peer.unpack(json.loads(json.dumps(peer.pack(value)))) for key, value in answer.items()}
    assert passed["more"] == [(1, "a"), None, 3]
    assert type(passed["eigen"]) is tuple
    assert [part.tolist() for part in passed["eigen"]] == [[1, 1], [[1, 0], [0, 1]]]


needs_sandbox = pytest.mark.skipif(not sandbox.command(), reason="bubblewrap does not work here")


def graded(made, tmp_path, only=None, **options):
    course, folder = tmp_path / "course", tmp_path / "handed-in"
    shutil.copytree(made / "course", course)
    folder.mkdir()
    expected = class_of.make(course, folder, FIRST)
    for path in folder.iterdir():
        if only is not None and path.name not in only:
            shutil.rmtree(path)
    results = grading.grade(course, FIRST, folder, quiet=True, **options)
    return course, folder, {r.student: r for r in results}, expected


def check(found, expected):
    for student, result in found.items():
        if expected[student] is None:
            assert result.status == grading.MANUAL, student
            assert result.notes, student
        else:
            assert (result.status, result.score) == (grading.GRADED, expected[student]), (student, result)


def page(course, student):
    return (course / "feedback" / student / FIRST / f"{FIRST}.html").read_text(encoding="utf-8")


def table(course):
    with (course / "grading" / FIRST / "grades.csv").open(encoding="utf-8") as file:
        return {row["student"]: row for row in csv.DictReader(file)}


@pytest.mark.slow
def test_a_small_class(made, tmp_path):
    only = (
        "right-0",
        "right-1",
        "nothing",
        "wrong-factor",
        "wrong-lambda",
        "hostile-quits",
        "changed-tests",
        "torn",
    )
    course, folder, found, expected = graded(made, tmp_path, only)
    assert set(found) == set(only)
    check(found, expected)
    first = table(course)
    assert first["right-0"]["by_tests"] == "18"
    assert first["hostile-quits"]["status"] == "needs manual grade"
    messages = found["wrong-lambda"].messages
    assert "the 1/n of the mean is missing" in messages["test_ridge_hidden"]
    assert "their mistake counts once" in messages["test_double_descent"]

    # A page says why and by which name, keeps the tests to itself, loads nothing, and stands for everybody.
    text = page(course, "wrong-factor")
    assert "the definition divides by k!" in text
    assert "test_hermite_hidden" in text
    assert "data:image/png" in text
    assert "<td>explanation</td><td>not yet</td>" in text
    for student in only:
        assert not re.search(r"secret|https?://|<script|<link", page(course, student)), student
        assert (course / "autograded" / student / FIRST / f"{FIRST}.ipynb").exists()
    hidden = (course / "autograded" / "wrong-factor" / FIRST / f"{FIRST}.ipynb").read_text(encoding="utf-8")
    assert "secret = np.random" not in hidden

    # A reader marks; then a late submission comes in, and the same file of another is graded again.
    from nbgrader.api import Gradebook

    def marks(student):
        with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
            grades = book.find_submission_notebook(FIRST, FIRST, student).grades
            return {grade.name: (grade.manual_score, bool(grade.needs_manual_grade)) for grade in grades}

    assert marks("nothing")["explanation"] == (None, False)  # not answered: nothing to read
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        for student in ("right-0", "right-1"):
            for grade in book.find_submission_notebook(FIRST, FIRST, student).grades:
                if grade.name in ("explanation", "figure"):
                    grade.manual_score, grade.needs_manual_grade = 2, False
        book.db.commit()
    before = {path: path.stat().st_mtime_ns for path in (course / "grading" / FIRST).rglob("result.json")}
    late = class_of.solve(class_of.notebook(course, FIRST), FIRST, {"explanation": "Another text."})
    class_of.save(late, folder, "right-0", f"{FIRST}.ipynb")
    class_of.save(class_of.notebook(course, FIRST), folder, "late", f"{FIRST}.ipynb")
    again = {r.student: r for r in grading.grade(course, FIRST, folder, quiet=True)}
    assert (again["late"].score, again["right-0"].score) == (0, 18)
    changed = {path.parent.name for path, time in before.items() if path.stat().st_mtime_ns != time}
    assert changed == {"right-0"}
    assert marks("right-1")["explanation"] == marks("right-1")["figure"] == (2, False)
    assert marks("right-0")["explanation"] == (2, True)  # marked for another text: to be read again
    assert marks("right-0")["figure"] == (2, False)
    assert table(course)["right-1"]["points"] == "22"
    assert "<td>explanation</td><td>2 of 5</td>" in page(course, "right-1")


def test_points_that_no_cell_has_are_an_error(made, tmp_path):
    course = tmp_path / "course"
    shutil.copytree(made / "course", course)
    sheet = grading.Sheet(course, FIRST)
    for cells in ({"test_ridge_hidden": 25.0}, {"explanation": -1.0}):
        with pytest.raises(ValueError, match="points in"):
            grading.enter(sheet, [grading.Result("jane", cells=cells)])


@needs_sandbox
def test_nothing_is_left_of_the_world_in_the_sandbox(made):
    process = sandbox.Kernel(time.monotonic() + 60)
    code = class_of.REACHING["reads-source"].replace("@COURSE", str(made)).replace("@ROOT", str(sheets.ROOT))
    try:
        for source, words in (
            (code, "seen 0"),
            (class_of.REACHING["calls-out"], "Network is unreachable"),
            ("import os; print(len([x for x in os.listdir('/proc') if x.isdigit()]) < 6)", "True"),
            ("open('/usr/x', 'w')", "Read-only file system"),
            ("open('large', 'wb').write(bytes(10**8))", "File too large"),
            ("bytes(10**10)", "MemoryError"),
            ("import os; print('HOME', os.environ['HOME'])", "HOME /tmp"),
        ):
            (shown,) = process.ask(**{"do": "run", "with": source})
            assert words in shown["text"], (source, shown)
    finally:
        process.close()


def test_without_a_sandbox_the_lecturer_is_told(made, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sandbox, "command", lambda: ())
    (tmp_path / "handed-in" / "empty").mkdir(parents=True)
    shutil.copytree(made / "course", tmp_path / "course")
    grading.grade(tmp_path / "course", FIRST, tmp_path / "handed-in", quiet=True)
    assert capsys.readouterr().err == sandbox.OPEN + "\n"


def test_a_grading_process_that_does_not_end_is_ended(made, tmp_path, monkeypatch):
    monkeypatch.setattr(grading, "work", lambda *_: time.sleep(600))
    shutil.copytree(made / "course", tmp_path / "course")
    class_of.save(class_of.notebook(tmp_path / "course", FIRST), tmp_path / "in", "slow", f"{FIRST}.ipynb")
    (result,) = grading.grade(tmp_path / "course", FIRST, tmp_path / "in", seconds=-60, quiet=True)
    assert (result.status, result.notes) == (grading.MANUAL, ["grading it took too long or too much memory"])
    assert "not yet" in page(tmp_path / "course", "slow")


@pytest.mark.parametrize(
    ("course", "name", "submissions", "words"),
    [
        ("made", "09-none", "made", "holds 01-hermite-and-random-features, "),
        ("student", FIRST, "made", "holds no assignment, not"),
        ("made", FIRST, "nowhere", "SUBMISSIONS must be a folder"),
    ],
)
def test_a_wrong_folder_is_named(made, tmp_path, capsys, course, name, submissions, words):
    places = {"made": made / "course", "student": made / "student", "nowhere": tmp_path / "nowhere"}
    with pytest.raises(SystemExit):
        grading.main([str(places[course]), name, str(places[submissions])])
    assert words in capsys.readouterr().err


@pytest.mark.slow
def test_a_batch_that_was_killed_goes_on_where_it_stopped(made, tmp_path):
    course, folder = tmp_path / "course", tmp_path / "handed-in"
    shutil.copytree(made / "course", course)
    folder.mkdir()
    for k in range(4):
        student = class_of.solve(class_of.notebook(course, FIRST), FIRST)
        class_of.save(student, folder, f"right-{k}", f"{FIRST}.ipynb")
    command = [sys.executable, "-m", "book._tools.grading", str(course), FIRST, str(folder), "--jobs", "2"]
    batch = subprocess.Popen(command, cwd=sheets.ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    place = course / "grading" / FIRST
    while not (done := list(place.glob("*/result.json"))):
        assert batch.poll() is None
        time.sleep(0.1)
    children = psutil.Process(batch.pid).children(recursive=True)
    batch.kill()
    batch.wait()
    times = {path: path.stat().st_mtime_ns for path in done}
    assert children
    psutil.wait_procs(children, timeout=20)
    assert not [child for child in children if child.is_running()]
    results = grading.grade(course, FIRST, folder, quiet=True)
    assert [(r.status, r.score) for r in results] == [(grading.GRADED, 18)] * 4
    assert all(path.stat().st_mtime_ns == before for path, before in times.items())


@pytest.mark.slow
@needs_sandbox
def test_a_class_right_wrong_and_hostile(made, tmp_path):
    course, _, found, expected = graded(made, tmp_path)
    assert set(found) == set(expected)
    assert len(found) >= 30
    check(found, expected)
    left = [p for p in psutil.process_iter(["cmdline"]) if class_of.MARK in (p.info["cmdline"] or ())]
    assert not left
    assert "seen 0" in page(course, "hostile-reads-source")
    assert "Network is unreachable" in page(course, "hostile-calls-out")
    assert set(found) == {path.name for path in (course / "autograded").iterdir()}
    print((course / "grading" / FIRST / "grades.csv").read_text(encoding="utf-8"))
