"""Nobody is lost, nobody is two: the names that platforms give to what students hand in."""

import csv
import json
import os

import nbformat
import pytest

pytest.importorskip("nbgrader", reason="the grading tools are not installed")

from book._tools import handed_in, reports

NAME = "01-hermite-and-random-features"
OTHER = "02-gaussian-equivalence"
PLATFORMS = {
    "canvas": (
        {
            f"doejane_11111_90001_{NAME}.ipynb": "doejane_11111",
            f"doejane_LATE_22222_90002_{NAME}-1.ipynb": "doejane_22222",
            "roejohn_33333_90003_final version.ipynb": "roejohn_33333",
            "poejim_44444_90004_report.pdf": "poejim_44444",
        },
        {"poejim_44444"},
    ),
    "moodle": (
        {
            f"Jane Doe_11111_assignsubmission_file_/{NAME}.ipynb": "Jane Doe_11111",
            f"Jane Doe_22222_assignsubmission_file/{NAME}.ipynb": "Jane Doe_22222",
            "Jané Döe_33333_assignsubmission_file_mine.ipynb": "Jané Döe_33333",
            "Jim Poe_44444_assignsubmission_onlinetext_/onlinetext.html": "Jim Poe_44444",
            f"Jim Roe_55555_assignsubmission_file_/{NAME}.ipynb": "Jim Roe_55555",
            "Jim Roe_55555_assignsubmission_onlinetext_/onlinetext.html": "Jim Roe_55555",
        },
        {"Jim Poe_44444"},
    ),
    "nbgrader": (
        {
            f"jane/{NAME}/{NAME}.ipynb": "jane",
            f"jane/{OTHER}/{OTHER}.ipynb": "jane",
            f"late/{OTHER}/{OTHER}.ipynb": "late",
        },
        {"late"},
    ),
    "plain": (
        {
            f"a b/{NAME}.ipynb": "a b",
            f"a-b/{NAME}.ipynb": "a-b",
            "???/x.ipynb": "%3F%3F%3F",
            "!!!/x.ipynb": "%21%21%21",
            f"jane_{NAME}.ipynb": "jane",
            "jane_doe.ipynb": "jane_doe",
            "jane_roe.ipynb": "jane_roe",
            "__MACOSX/._jane_doe.ipynb": None,
            ".DS_Store": None,
            f"c/__MACOSX/._{NAME}.ipynb": "c",
            f"c/{NAME}.ipynb": "c",
            f"d/.ipynb_checkpoints/{NAME}-checkpoint.ipynb": "d",
            "grades.csv": None,
        },
        {"d"},
    ),
}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_every_student_and_none_twice(tmp_path, platform):
    files, without = PLATFORMS[platform]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("{}", encoding="utf-8")
    found = handed_in.collect(tmp_path, NAME, frozenset({NAME, OTHER}))
    assert set(found) == set(files.values()) - {None}
    assert {student for student, paths in found.items() if not paths} == without
    assert all(len(paths) <= 1 for paths in found.values())


@pytest.mark.parametrize(
    "files",
    [
        ("doejane_11111_90001_a.ipynb", "doejane_11111_90002_b.ipynb"),
        ("Jane/a.ipynb", "jane/a.ipynb"),  # one folder on other systems, and in their archives
        ("jane/a.ipynb", "jane.ipynb"),
    ],
)
def test_two_that_claim_one_student_stop_it(tmp_path, files):
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="two submissions claim the student"):
        handed_in.collect(tmp_path, NAME)


def test_a_name_that_is_no_utf8_is_a_student(tmp_path):
    (tmp_path / os.fsdecode(b"M\xfcller")).mkdir()
    (tmp_path / os.fsdecode(b"M\xfcller") / os.fsdecode(b"\xfc.ipynb")).write_text("{}", encoding="utf-8")
    found = handed_in.collect(tmp_path, NAME)
    assert list(found) == ["M%5Cxfcller"]
    assert handed_in.content(found["M%5Cxfcller"]) == b"{}"


def test_a_name_that_no_folder_can_have(tmp_path):
    names = ["\N{SNOWMAN}" * 80, "\N{SNOWMAN}" * 79 + "x", f"_{NAME}"]
    for name in names:
        (tmp_path / f"{name}.ipynb").write_text("{}", encoding="utf-8")
    found = list(handed_in.collect(tmp_path, NAME))
    assert len(set(found)) == 3
    assert all(0 < len(name.encode()) < 200 for name in found)


def odd(folder):
    """What a student's one file may be, if it is no file."""
    (folder / "broken.ipynb").symlink_to("nowhere")
    (folder / "circular.ipynb").symlink_to("circular.ipynb")
    (folder / "device.ipynb").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.ipynb")
    (folder / "folder.ipynb").mkdir()
    with (folder / "huge.ipynb").open("wb") as file:
        file.truncate(handed_in.LARGEST + 1)
    (folder / "two").mkdir()
    for name in "ab":
        (folder / "two" / f"{name}.ipynb").write_text("{}", encoding="utf-8")


def test_what_is_no_file_is_not_read(tmp_path):
    odd(tmp_path)
    found = handed_in.collect(tmp_path, NAME)
    assert set(found) == {"broken", "circular", "device", "pipe", "folder.ipynb", "huge", "two"}
    for paths in found.values():
        with pytest.raises((OSError, ValueError)):
            handed_in.content(paths)


def release():
    cell = nbformat.v4.new_code_cell("given")
    cell.metadata["nbgrader"] = {"grade_id": "a", "solution": False, "grade": False, "locked": True}
    return nbformat.v4.new_notebook(cells=[cell])


def test_empty_cells_are_dropped_and_too_many_refused():
    empty = [{"cell_type": "code", "source": ""}] * 8000
    repaired, notes = handed_in.repair(json.dumps({"cells": empty}), release())
    assert (len(repaired.cells), notes) == (1, ["a was missing"])
    full = [{"cell_type": "code", "source": "1"}] * (handed_in.CELLS + 1)
    with pytest.raises(ValueError, match="more than 2000 cells"):
        handed_in.repair(json.dumps({"cells": full}), release())


@pytest.mark.parametrize(
    "text", ["", "[]", '{"cells": 1}', "[" * 100_000, '{"cells": [1, null, {"source": 7}]}']
)
def test_a_text_that_is_no_notebook(text):
    try:
        repaired, _ = handed_in.repair(text, release())
    except (ValueError, RecursionError):
        return
    assert "given" in [cell.source for cell in repaired.cells]


CANVAS = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Sheet 1 (77),Final Score\n"
    "    Points Possible,,,,,18,100\n"
    '"Doe, Jane",11111,s1,jane,A,,\n"Doe, Jane",22222,s2,jane2,A,,\n"Roe, John",33333,s3,john,A,,\n'
)
MOODLE = (
    "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade),Feedback comments\n"
    "Participant 11111,Jane Doe,jane@x.org,Submitted,,25.00,-,\n"
    "Participant 22222,Jane Doe,jane2@x.org,Submitted,,25.00,-,\n"
)


@pytest.mark.parametrize(
    ("export", "column", "at", "filled"),
    [(CANVAS, "Sheet 1 (77)", 5, ["18", "17.5", "", ""]), (MOODLE, None, 4, ["17.5", ""])],
)
def test_the_platform_gets_its_own_table_back(tmp_path, export, column, at, filled):
    head = ["student", "points", "waiting"]
    reports.write(
        tmp_path / "grades.csv",
        head,
        [["Jane Doe_11111", "17.5", 0], ["Jane Doe_22222", "3", 2], ["Jim Poe_44444", "9", 0]],
    )
    (tmp_path / "export.csv").write_text(export, encoding="utf-8-sig")
    told = reports.upload(tmp_path, tmp_path / "export.csv", NAME, column)
    assert "1 rows filled, 1 left empty" in told
    assert told.endswith("without a row: Jim Poe_44444")
    before = list(csv.reader(export.splitlines()))
    after = list(csv.reader((tmp_path / "upload.csv").read_text(encoding="utf-8").splitlines()))
    assert [row[at] for row in after[1:]] == filled
    for row in before + after:
        del row[at]
    assert before == after


def test_a_row_for_two_students_stops_it(tmp_path):
    reports.write(
        tmp_path / "grades.csv", ["student", "points", "waiting"], [["a_11111", "1", 0], ["b_11111", "2", 0]]
    )
    (tmp_path / "export.csv").write_text(MOODLE, encoding="utf-8")
    with pytest.raises(ValueError, match="do not belong to each other alone"):
        reports.upload(tmp_path, tmp_path / "export.csv", NAME)
    with pytest.raises(ValueError, match="--column must name one"):
        reports.upload(tmp_path, tmp_path / "export.csv", NAME, "points")
