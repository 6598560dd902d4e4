"""Grade a class: collect, grade each submission in a process of its own, and write feedback and a table.

    python -m book._tools.grading COURSE ASSIGNMENT SUBMISSIONS [--jobs 2] [--seconds 180]

COURSE is the folder that `make assignments` made for nbgrader, SUBMISSIONS a folder with one folder (or one
notebook) a student, as a learning platform hands them out. Written into COURSE:

    grading/ASSIGNMENT/grades.csv       a line a student
    grading/ASSIGNMENT/cells.csv        a line for each graded cell
    autograded/, feedback/, gradebook   what nbgrader's formgrader needs for the parts graded by a reader

A submission is repaired first (`repair`), then graded by nbgrader in a process that may be killed: whatever
it does, it ends with a score or with "needs manual grade", and the batch goes on. A batch that was killed
goes on where it stopped: what a student has got is written at once, whole or not at all, and is kept for as
long as neither the submission nor the assignment has changed.

Student code runs with the rights of whoever runs this. See the page "For instructors" for a container.
"""

import argparse
import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path

import nbformat
import psutil
from tqdm import tqdm

from book._tools.assignments import ROOT, points, settings

GRADED, MANUAL = "graded", "needs manual grade"
TOKEN = "ONESTEP_GRADING"  # in the environment of all that a submission starts
MEMORY = 4 * 2**30  # bytes of address space of a submission's kernel
FILE_SIZE = 50 * 2**20  # bytes of a file that it writes
OUTPUT = 200_000  # characters that a notebook may print
LARGEST = 100 * 2**20  # bytes of a notebook that is read at all
# Run by the kernel before the first cell: it stops accidents, not attacks, like everything in one process.
LIMITS = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
resource.setrlimit(resource.RLIMIT_FSIZE, ({FILE_SIZE}, {FILE_SIZE}))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
def limit_output():
    from ipykernel.iostream import OutStream
    write, left = OutStream.write, [{OUTPUT}]
    def limited(self, string):
        if left[0] > 0:
            part = string[: left[0]]
            left[0] -= len(part)
            write(self, part + ("" if left[0] > 0 else "\\n[output cut by the grader]\\n"))
        return len(string)
    OutStream.write = limited
limit_output()
del resource, limit_output
"""


@dataclass
class Result:
    """What became of one submission."""

    student: str
    status: str = MANUAL
    score: float = 0.0  # of what is graded so far
    notes: list[str] = field(default_factory=list)
    cells: dict[str, float | None] = field(default_factory=dict)  # None: waits for a reader
    seconds: float = 0.0
    of: str = ""  # hash of the submission and of the assignment


def collect(folder: Path, assignment: str) -> dict[str, list[Path]]:
    """The notebooks of each student: folders by their name, single files by the part before the first `_`."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            student, notebooks = path.name, sorted(path.rglob("*.ipynb"))
            notebooks = [p for p in notebooks if ".ipynb_checkpoints" not in p.parts]
        elif path.suffix == ".ipynb":
            student, notebooks = path.stem.split("_")[0], [path]
        else:
            continue
        right = [p for p in notebooks if p.stem == assignment]
        student = re.sub(r"[^\w.@-]+", "-", student).strip("-.") or "student"
        found.setdefault(student, []).extend(right or notebooks)
    return found


def repair(text: str, release: nbformat.NotebookNode) -> tuple[nbformat.NotebookNode, list[str]]:
    """A submission as nbgrader needs it, and what had to be done.

    Outputs and metadata go. Of a given cell that stands there twice the first is kept, of an answer and a
    test the last. A cell that is missing is put back after the one that precedes it in the release, and
    cells that students should not touch get their text back.
    """
    raw = json.loads(text)
    if not isinstance(raw, dict) or not isinstance(raw.get("cells"), list):
        raise ValueError("it is no notebook")
    known = {label: cell for cell in release.cells if (label := name(cell))}
    cells = [as_known(old, known) for old in raw["cells"]]
    notes: list[str] = []
    for label, original in known.items():
        copies = [cell for cell in cells if name(cell) == label]
        if not copies:
            notes.append(f"{label} was missing")
            order = list(known)
            earlier = set(order[: order.index(label)])
            at = max((k + 1 for k, cell in enumerate(cells) if name(cell) in earlier), default=0)
            cells.insert(at, nbformat.from_dict(original))
            continue
        own = original.metadata["nbgrader"]
        kept = copies[-1 if own["solution"] or own["grade"] else 0]
        if len(copies) > 1:
            notes.append(f"{label} stood there {len(copies)} times")
            for cell in copies:
                if cell is not kept:
                    del cell.metadata["nbgrader"]
                    # An earlier answer may define what the later one uses; an earlier test is of no use.
                    cell.source = cell.source if own["solution"] else ""
        if own["locked"] and kept.source.strip() != original.source.strip():
            notes.append(f"{label} was changed")
            kept.source = original.source
    metadata = {
        key: release.metadata[key] for key in ("kernelspec", "language_info") if key in release.metadata
    }
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata), notes


def as_known(old: dict, known: dict[str, nbformat.NotebookNode]) -> nbformat.NotebookNode:
    """A submitted cell with its text alone, and with the release's metadata if it is one of the release's."""
    source = old.get("source", "")
    source = "".join(source) if isinstance(source, list) else str(source)
    own = (old.get("metadata") or {}).get("nbgrader")
    original = known.get(own.get("grade_id")) if isinstance(own, dict) else None
    kind = original.cell_type if original is not None else old.get("cell_type")
    make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    cell = make(source)
    if original is not None:
        cell.metadata["nbgrader"] = dict(original.metadata["nbgrader"])
    return cell


def name(cell: nbformat.NotebookNode) -> str | None:
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def prepare(course: Path, assignment: str, student: str, paths: list[Path], work: Path) -> list[str]:
    """Lay out a course of one student in `work`; what had to be repaired."""
    release = nbformat.read(course / "release" / assignment / f"{assignment}.ipynb", as_version=4)
    if not paths:
        raise ValueError("there is no notebook")
    notes = []
    if len(paths) > 1:
        paths = sorted(paths, key=lambda p: p.stat().st_mtime)[-1:]
        notes.append(f"several notebooks: {paths[0].name}, the newest, is graded")
    if paths[0].stem != assignment:
        notes.append(f"the file was called {paths[0].name}"[:120])
    if paths[0].stat().st_size > LARGEST:
        raise ValueError(f"the file is larger than {LARGEST // 2**20} MB")
    notebook, repaired = repair(paths[0].read_text(encoding="utf-8"), release)
    shutil.rmtree(work, ignore_errors=True)
    place = work / "submitted" / student / assignment
    place.mkdir(parents=True)
    nbformat.write(notebook, place / f"{assignment}.ipynb")
    for path in ("nbgrader_config.py", "gradebook.db"):
        shutil.copyfile(course / path, work / path)
    startup = work / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "limits.py").write_text(LIMITS, encoding="utf-8")
    return notes + repaired


def grade_one(work: Path, assignment: str, student: str) -> None:
    """Run nbgrader on a course of one student. Called in a process of its own."""
    from nbgrader.apps import NbGraderAPI

    api = NbGraderAPI(config=settings(work))
    found = api.autograde(assignment, student, force=True)
    if not found["success"]:
        sys.exit(str(found.get("log") or found.get("error"))[-2000:])
    found = api.generate_feedback(assignment, student, force=True)
    if not found["success"]:
        print(found.get("log") or found.get("error"))


def start(work: Path, assignment: str, student: str) -> subprocess.Popen:
    token = str(work.resolve())
    environment = os.environ | {
        TOKEN: token, "IPYTHONDIR": str(work / "ipython"), "MPLBACKEND": "Agg", "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    }  # fmt: skip
    with (work / "log.txt").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "book._tools.grading", "--one", str(work), assignment, student],
            cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True,
        )  # fmt: skip


def end(work: Path) -> None:
    """Kill whatever a submission has started, also what has left its group and its parent."""
    token = str(work.resolve())
    for process in psutil.process_iter():
        try:
            if process.environ().get(TOKEN) == token:
                process.kill()
        except psutil.Error:
            continue


def scores(course: Path, assignment: str, student: str) -> dict[str, float | None]:
    """Points of each graded cell in the gradebook of `course`; None where a reader has to decide."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        grades = book.find_submission_notebook(assignment, assignment, student).grades
        return {grade.name: None if grade.needs_manual_grade else grade.auto_score for grade in grades}


def finish(course: Path, work: Path, assignment: str, result: Result, code: int | None) -> None:
    """Take over what a finished process left: scores, graded notebook and feedback."""
    student = result.student
    if code is None:
        result.notes.append("stopped: it took too long")
        return
    if code != 0:
        result.notes.append("the kernel died, or nbgrader failed: see log.txt")
        return
    try:
        result.cells = scores(work, assignment, student)
    except Exception as error:
        result.notes.append(f"no scores were found: {type(error).__name__}")
        return
    result.status, result.score = GRADED, sum(x for x in result.cells.values() if x is not None)
    for kind in ("submitted", "autograded", "feedback"):
        made = work / kind / student / assignment
        if made.exists():
            target = course / kind / student / assignment
            shutil.rmtree(target, ignore_errors=True)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(made, target)
        else:
            result.notes.append(f"nbgrader left no {kind}: see log.txt")


def enter(course: Path, assignment: str, results: list[Result]) -> None:
    """Copy the scores into the gradebook of the course, where formgrader reads them."""
    from nbgrader.api import Gradebook
    from sqlalchemy.exc import SAWarning

    with warnings.catch_warnings(), Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        warnings.simplefilter("ignore", SAWarning)  # of nbgrader's own way to add rows
        for result in results:
            book.update_or_create_student(result.student)
            book.update_or_create_submission(assignment, result.student)
            for grade in book.find_submission_notebook(assignment, assignment, result.student).grades:
                if result.status == GRADED:
                    grade.auto_score = result.cells.get(grade.name)
                    grade.needs_manual_grade = result.cells.get(grade.name) is None
                else:
                    grade.needs_manual_grade = True
        book.db.commit()


def digest(course: Path, assignment: str, paths: list[Path]) -> str:
    """Of the submission and of what it is graded with."""
    total = hashlib.sha256((course / "source" / assignment / f"{assignment}.ipynb").read_bytes())
    for path in paths:
        total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()


def kept(place: Path, of: str) -> Result | None:
    """What an earlier run has found, if it was for the same submission."""
    try:
        result = Result(**json.loads((place / "result.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return result if result.of == of else None


def keep(place: Path, result: Result) -> None:
    """Write a result whole or not at all."""
    place.mkdir(parents=True, exist_ok=True)
    unfinished = place / "result.unfinished"
    unfinished.write_text(json.dumps(asdict(result), indent=1), encoding="utf-8")
    unfinished.replace(place / "result.json")


def grade(
    course: Path, assignment: str, submissions: Path, jobs: int = 2, seconds: float = 180, quiet: bool = False
) -> list[Result]:
    """Grade all submissions; those that have a result already are not run again."""
    course = course.resolve()
    place = course / "grading" / assignment
    results: list[Result] = []
    waiting = []
    for student, paths in collect(submissions, assignment).items():
        of = digest(course, assignment, paths)
        earlier = kept(place / student, of)
        if earlier:
            results.append(earlier)
        else:
            waiting.append((student, paths, of))
    running: list[tuple[Result, Path, subprocess.Popen, float]] = []
    total = len(results) + len(waiting)
    with tqdm(total=total, initial=len(results), disable=quiet, unit="submission", desc=assignment) as bar:
        try:
            while waiting or running:
                while waiting and len(running) < jobs:
                    student, paths, of = waiting.pop(0)
                    result, work = Result(student, of=of), place / student / "work"
                    end(work)  # what a batch that was killed may have left running
                    try:
                        result.notes = prepare(course, assignment, student, paths, work)
                        running.append((result, work, start(work, assignment, student), time.monotonic()))
                    except Exception as error:  # whatever a file may hold
                        result.notes.append(f"not readable: {error}"[:200])
                        keep(place / student, result)
                        results.append(result)
                        bar.update()
                for job in list(running):
                    result, work, process, began = job
                    late = time.monotonic() - began > seconds
                    if process.poll() is None and not late:
                        continue
                    code = process.poll()
                    end(work)
                    process.wait()
                    finish(course, work, assignment, result, code)
                    result.seconds = round(time.monotonic() - began, 1)
                    (place / result.student).mkdir(exist_ok=True)
                    shutil.copyfile(work / "log.txt", place / result.student / "log.txt")
                    shutil.rmtree(work, ignore_errors=True)
                    keep(place / result.student, result)
                    results.append(result)
                    running.remove(job)
                    bar.update()
                time.sleep(0.05)
        finally:
            for _, work, process, _ in running:
                end(work)
                process.wait()
    results.sort(key=lambda result: result.student)
    enter(course, assignment, results)
    write_tables(
        place, results, points(nbformat.read(course / "source" / assignment / f"{assignment}.ipynb", 4))
    )
    return results


def write_tables(place: Path, results: list[Result], most: tuple[int, int]) -> None:
    place.mkdir(parents=True, exist_ok=True)
    with (place / "grades.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(
            ["student", "status", "score", "most_by_tests", "most_by_reader", "waiting", "seconds", "notes"]
        )
        for r in results:
            waiting = sum(x is None for x in r.cells.values())
            table.writerow(
                [r.student, r.status, f"{r.score:g}", *most, waiting, r.seconds, "; ".join(r.notes)]
            )
    with (place / "cells.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["student", "cell", "points"])
        for r in results:
            table.writerows(
                [r.student, cell, "" if x is None else f"{x:g}"] for cell, x in sorted(r.cells.items())
            )


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--one"]:
        work, assignment, student = arguments[1:]
        grade_one(Path(work), assignment, student)
        return 0
    parser = argparse.ArgumentParser(description="Grade a class.")
    parser.add_argument("course", type=Path)
    parser.add_argument("assignment")
    parser.add_argument("submissions", type=Path)
    parser.add_argument("--jobs", type=int, default=2, help="submissions graded side by side")
    parser.add_argument("--seconds", type=float, default=180, help="time a submission may take")
    found = parser.parse_args(arguments)
    made = sorted(path.name for path in (found.course / "source").glob("*/"))
    if found.assignment not in made:
        parser.error(
            f"{found.course} holds {', '.join(made) or 'no assignment'}, not {found.assignment!r}: "
            "COURSE is the folder course/ that `make assignments` made"
        )
    if not found.submissions.is_dir():
        parser.error(
            f"SUBMISSIONS must be a folder with a folder or a notebook a student, got {found.submissions}"
        )
    results = grade(found.course, found.assignment, found.submissions, found.jobs, found.seconds)
    manual = sum(result.status != GRADED for result in results)
    print(f"{len(results)} submissions: {len(results) - manual} graded, {manual} need a manual grade.")
    print(f"The table: {found.course}/grading/{found.assignment}/grades.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
