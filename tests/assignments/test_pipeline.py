"""The whole way of a class through nbgrader: made, handed in, repaired, graded, told, written to a table."""

import csv
import json
import shutil
import subprocess
import sys
import time
import zipfile

import class_of
import nbformat
import pytest
import sheets

pytest.importorskip("nbgrader", reason="the grading tools are not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # nbgrader's and SQLAlchemy's own deprecations

from book._tools import assignments, grading  # noqa: E402

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
        source = nbformat.read(sheets.SOURCES / f"{name}.ipynb", as_version=4)
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


def test_points_on_the_sheet_are_the_points_of_the_cells():
    for name in sheets.assignments():
        notebook = assignments.variant(sheets.SOURCES / f"{name}.ipynb")
        tests, reader = assignments.points(notebook)
        line = f"**Points** {tests + reader}, of which {tests} are graded by tests and {reader} by a reader"
        assert line in notebook.cells[0].source, name


def test_repair_puts_back_what_was_deleted_and_doubled(made):
    release = class_of.notebook(made / "course", FIRST)
    labels = [grading.name(cell) for cell in release.cells if grading.name(cell)]
    broken = class_of.notebook(made / "course", FIRST)
    del broken.cells[class_of.cell_of(broken, "test_ridge_hidden")]
    broken.cells.append(nbformat.from_dict(broken.cells[class_of.cell_of(broken, "ridge")]))
    repaired, notes = grading.repair(json.dumps(broken), release)
    assert sorted(filter(None, map(grading.name, repaired.cells))) == sorted(labels)
    assert notes == ["ridge stood there 2 times", "test_ridge_hidden was missing"]


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


@pytest.mark.slow
def test_a_small_class(made, tmp_path):
    only = ("right-0", "nothing", "wrong-factor", "hostile-quits", "changed-tests", "torn")
    course, folder, found, expected = graded(made, tmp_path, only)
    assert set(found) == set(only)
    check(found, expected)
    with (course / "grading" / FIRST / "grades.csv").open(encoding="utf-8") as file:
        table = {row["student"]: row for row in csv.DictReader(file)}
    assert table["right-0"]["score"] == "18"
    assert table["hostile-quits"]["status"] == "needs manual grade"
    feedback = (course / "feedback" / "wrong-factor" / FIRST / f"{FIRST}.html").read_text(encoding="utf-8")
    assert "the definition divides by k!" in feedback  # the student is told why

    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        assert book.find_submission(FIRST, "right-0").score == 18
        assert book.find_submission(FIRST, "right-0").needs_manual_grade  # the essay and the figure

    # Again: nothing is run, except what has changed.
    before = {path: path.stat().st_mtime_ns for path in (course / "grading" / FIRST).rglob("result.json")}
    class_of.save(class_of.notebook(course, FIRST), folder, "right-0", f"{FIRST}.ipynb")
    again = {r.student: r for r in grading.grade(course, FIRST, folder, quiet=True)}
    assert again["right-0"].score == 0
    assert {path.parent.name for path, time in before.items() if path.stat().st_mtime_ns != time} == {
        "right-0"
    }


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
    command = [sys.executable, "-m", "book._tools.grading", str(course), FIRST, str(folder), "--jobs", "1"]
    batch = subprocess.Popen(command, cwd=sheets.ROOT, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    place = course / "grading" / FIRST
    while not (done := list(place.glob("*/result.json"))):
        assert batch.poll() is None
        time.sleep(0.1)
    batch.kill()
    batch.wait()
    times = {path: path.stat().st_mtime_ns for path in done}
    results = grading.grade(course, FIRST, folder, quiet=True)
    assert [(r.status, r.score) for r in results] == [(grading.GRADED, 18)] * 4
    assert all(path.stat().st_mtime_ns == before for path, before in times.items())
    assert not list(place.glob("*/work"))


@pytest.mark.slow
def test_a_class_of_thirty_right_wrong_and_hostile(made, tmp_path):
    start = time.monotonic()
    course, _, found, expected = graded(made, tmp_path)
    assert set(found) == set(expected)
    assert len(found) >= 30
    check(found, expected)
    assert time.monotonic() - start < 600
    print((course / "grading" / FIRST / "grades.csv").read_text(encoding="utf-8"))
