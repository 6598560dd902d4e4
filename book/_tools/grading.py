"""Grade a class: collect, run each submission in a sandbox, check it from outside, write feedback and tables.

    python -m book._tools.grading COURSE ASSIGNMENT SUBMISSIONS [--list] [--gradebook EXPORT.csv] [--jobs 2]

COURSE is the folder that `make assignments` made, SUBMISSIONS what a learning platform hands out (Canvas,
Moodle, nbgrader's `submitted`, or a folder or notebook a student). Written into COURSE:

    grading/ASSIGNMENT/students.csv     which file is whose, before anything is graded (`--list` stops there)
    grading/ASSIGNMENT/grades.csv       a line a student; cells.csv: a line for each graded cell
    grading/ASSIGNMENT/upload.csv       EXPORT.csv, the platform's own gradebook, with the points filled in
    autograded/, feedback/, gradebook   for nbgrader's formgrader and for students

A submission's cells run in a process of their own (`sandbox`), inside bubblewrap where that is installed. The
tests run outside of it: they call the functions of the submission, and only numbers come back. A test that
fails because of an earlier answer is checked again with the sheet's own function in that one's place, and the
better of the two counts. A batch that was killed goes on where it stopped.
"""

import argparse
import ast
import ctypes
import hashlib
import json
import multiprocessing
import multiprocessing.connection
import os
import resource
import shutil
import signal
import sys
import time
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path

import nbformat
import tqdm

from book._tools import reports, sandbox
from book._tools.assignments import MARK, name, points
from book._tools.checks import Dead, Verdict, check, defined, plain
from book._tools.handed_in import collect, content, repair

GRADED, MANUAL = "graded", "needs manual grade"


@dataclass
class Result:
    """What became of one submission."""

    student: str
    file: str = ""
    status: str = MANUAL
    notes: list[str] = field(default_factory=list)
    cells: dict[str, float | None] = field(default_factory=dict)  # None: waits for a reader
    messages: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)  # of what stands in each graded cell
    seconds: float = 0.0
    of: str = ""  # hash of the submission and of the assignment

    @property
    def score(self) -> float:
        return sum(x for x in self.cells.values() if x is not None)


class Sheet:
    """An assignment of a course: what was set, what was handed out, and what the sheet's own answers get."""

    def __init__(self, course: Path, assignment: str):
        self.course, self.assignment = course, assignment
        self.source, self.release = (
            nbformat.read(course / kind / assignment / f"{assignment}.ipynb", as_version=4)
            for kind in ("source", "release")
        )
        self.place = course / "grading" / assignment
        self.given = {label: cell for cell in self.source.cells if (label := name(cell))}
        self.answers, self.graded, self.tests, answer = {}, {}, {}, ""
        for label, cell in self.given.items():
            about = cell.metadata.nbgrader
            if about.solution and cell.cell_type == "code":
                self.answers[label], answer = MARK.sub("", cell.source), label
            if about.grade:
                self.graded[label] = cell
            if about.grade and not about.solution:
                self.tests[label] = answer  # that it is about
        self.full: dict[str, Verdict] = {}

    def file(self, kind: str, student: str, ending: str = "ipynb") -> Path:
        """Where nbgrader keeps what it has of a student."""
        return self.course / kind / student / self.assignment / f"{self.assignment}.{ending}"

    def prove(self) -> None:
        """Grade the sheet's own answers: they say how many checks a cell has, and must pass all of them."""
        own = nbformat.from_dict(self.source)
        for cell in own.cells:
            cell.source = MARK.sub("", cell.source)
        ended = self.examine(own, time.monotonic() + 600, self.full)
        wrong = [f"{label}: {verdict.message}" for label, verdict in self.full.items() if verdict.message]
        if ended or wrong:
            raise ValueError(f"the sheet's own answers fail: {ended} {'; '.join(wrong)}")

    def examine(
        self, notebook: nbformat.NotebookNode, until: float, found: dict[str, Verdict], replace: bool = False
    ) -> str:
        """Run a notebook and check it; `replace` an answer by the sheet's own once it has failed.

        The verdicts go into `found`, the outputs into the notebook; returned is why it ended early, if so.
        """
        wanted = set().union(*map(defined, self.answers.values()))
        space: dict = {}
        process, cell, failed = sandbox.Kernel(until), None, ""
        try:
            for cell in notebook.cells:
                label = name(cell)
                if cell.cell_type != "code" or not cell.source.strip():
                    continue
                if failed and label not in self.tests:
                    process.ask(**{"do": "run", "with": self.answers[failed]})
                    failed = ""
                shown = process.ask(**{"do": "run", "with": cell.source})
                if label in self.tests:
                    test = self.given[label].source
                    used = {node.id for node in ast.walk(ast.parse(test)) if isinstance(node, ast.Name)}
                    values = process.ask(**{"do": "names", "with": sorted(used & wanted)})
                    found[label] = check(
                        test, space | {key: process.unpack(value) for key, value in values.items()}
                    )
                    if replace and not found[label].right(self.full[label]):
                        failed = self.tests[label]
                    continue
                cell.outputs = [reports.output(part) for part in shown]
                if label in self.given and label not in self.answers:
                    exec(plain(self.given[label].source), space)
        except Dead as ended:
            cell.outputs = [reports.output({"text": str(ended)})]
            return f"{ended}, in {label or 'a cell of the student'}"
        except Exception as error:  # an answer in words that no kernel of ours speaks
            return f"the kernel answered what the grader does not understand: {type(error).__name__}"
        finally:
            process.close()
        return ""

    def mark(self, result: Result, paths: list[Path], until: float) -> None:
        """Grade one submission, and leave what formgrader and the feedback read."""
        notebook, found, better, ended = nbformat.from_dict(self.release), {}, {}, "not readable"
        try:
            notebook, repaired = repair(content(paths), self.release)
            result.notes += repaired
            ended = self.examine(notebook, until, found)
            failed = {self.tests[label] for label in found if not found[label].right(self.full[label])}
            if not ended and len(failed) > 1:
                ended = self.examine(nbformat.from_dict(notebook), until, better, replace=True)
            result.status = MANUAL if ended else GRADED
        except Exception as error:  # whatever a file may hold
            ended = f"not readable: {error}"[:300]
        result.notes += [ended] if ended else []
        blank = {name(cell): cell.source.strip() for cell in self.release.cells}
        for cell in notebook.cells:
            label = name(cell)
            if label in self.tests:
                result.versions[label] = result.of
                result.cells[label], result.messages[label] = self.points(label, found, better)
                cell.outputs = [reports.output({"text": result.messages[label] or "passed"})]
            elif label in self.graded:
                result.versions[label] = hashlib.sha256(cell.source.encode()).hexdigest()
                result.cells[label] = 0.0 if not ended and cell.source.strip() == blank[label] else None
        for kind in ("submitted", "autograded"):
            path = self.file(kind, result.student)
            shutil.rmtree(path.parent, ignore_errors=True)
            path.parent.mkdir(parents=True)
            nbformat.write(notebook, path)

    def points(self, label: str, found: dict, better: dict) -> tuple[float | None, str]:
        """Points and message of a test cell, of the two ways to check it the better."""
        if label not in found:
            return None, "not reached: the run ended before"
        most, full, own = self.graded[label].metadata.nbgrader.points, self.full[label], found[label]
        shares = own.share(full), better[label].share(full) if label in better else 0
        message = own.message
        if shares[1] > shares[0]:
            message = better[label].message or (
                "Passed with our functions in place of earlier answers that fail: their mistake counts once."
            )
        return int(2 * most * max(shares) + 0.5) / 2, message  # halves are what readers give


def keep(path: Path, what: object) -> None:
    """Write it whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(what, indent=1), encoding="utf-8")
    unfinished.replace(path)


def kept(path: Path, of: str) -> Result | None:
    """What an earlier run has found, if it was for the same submission."""
    try:
        result = Result(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return result if result.of == of else None


def digest(sheet: Sheet, paths: list[Path]) -> str:
    """Of the submission and of what it is graded with."""
    try:
        own = content(paths)
    except (OSError, ValueError) as error:
        own = repr(error).encode()
    return hashlib.sha256(json.dumps(sheet.source).encode() + own).hexdigest()


def work(sheet: Sheet, result: Result, paths: list[Path], seconds: float) -> None:
    """The grading process of one submission: the tests run here, its cells in a kernel of its own."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # it ends with the batch, and so does its sandbox
        resource.setrlimit(resource.RLIMIT_AS, (sandbox.MEMORY, sandbox.MEMORY))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (1, 2):
        os.dup2(nowhere, number)
    began = time.monotonic()
    sheet.mark(result, paths, began + seconds)
    result.seconds = round(time.monotonic() - began, 1)
    keep(sheet.place / result.student / "result.json", asdict(result))


def grade(
    course: Path, assignment: str, submissions: Path, jobs: int = 2, seconds: float = 300, quiet: bool = False
) -> list[Result]:
    """Grade all submissions; those that have a result already are not run again."""
    sheet = Sheet(course.resolve(), assignment)
    students = claimed(sheet, submissions)
    results, waiting, running = [], [], {}
    for student, paths in students.items():
        of = digest(sheet, paths)
        if earlier := kept(sheet.place / student / "result.json", of):
            results.append(earlier)
        else:
            waiting.append((Result(student, " ".join(ascii(p.name)[1:-1] for p in paths), of=of), paths))
    if waiting:
        if not sandbox.command():
            print(sandbox.OPEN, file=sys.stderr)
        sheet.prove()
    fork = multiprocessing.get_context("fork")  # with everything imported
    tqdm.tqdm.monitor_interval = 0  # no thread beside a fork
    with tqdm.tqdm(total=len(students), initial=len(results), disable=quiet, unit="submission") as bar:
        while waiting or running:
            while waiting and len(running) < jobs:
                result, paths = waiting.pop(0)
                process = fork.Process(target=work, args=(sheet, result, paths, seconds), daemon=True)
                process.start()
                running[process.sentinel] = process, result, time.monotonic() + seconds + 60
            multiprocessing.connection.wait(running, timeout=1)
            for sentinel, (process, result, end) in list(running.items()):
                if process.is_alive() and time.monotonic() < end:
                    continue
                process.kill()
                process.join()
                done = kept(sheet.place / result.student / "result.json", result.of)
                if done is None:
                    sheet.mark(result, [], 0)
                    result.notes = ["grading it took too long or too much memory"]
                    keep(sheet.place / result.student / "result.json", asdict(result))
                results.append(done or result)
                del running[sentinel]
                bar.update()
    results.sort(key=lambda result: result.student)
    readers = enter(sheet, results)
    reports.tables(sheet.place, results, readers, points(sheet.source))
    for result in results:
        page = sheet.file("feedback", result.student, "html")
        page.parent.mkdir(parents=True, exist_ok=True)
        notebook = nbformat.read(sheet.file("autograded", result.student), as_version=4)
        text = reports.feedback(result, readers[result.student], sheet.graded, notebook)
        page.write_text(text, "utf-8")
    return results


def claimed(sheet: Sheet, submissions: Path) -> dict[str, list[Path]]:
    """Whose each file is, also written down for the lecturer."""
    others = frozenset(path.name for path in (sheet.course / "source").iterdir())
    students = collect(submissions, sheet.assignment, others)
    sheet.place.mkdir(parents=True, exist_ok=True)
    rows = [
        (student, " ".join(ascii(str(p.relative_to(submissions)))[1:-1] for p in paths) or "no notebook")
        for student, paths in students.items()
    ]
    reports.write(sheet.place / "students.csv", ["student", "file"], rows)
    return students


def enter(sheet: Sheet, results: list[Result]) -> dict[str, dict[str, tuple[float | None, str]]]:
    """Put the points into the gradebook; what stands there then, {student: {cell: (points, comment)}}.

    A mark of a reader stays for as long as the answer that it is for.
    """
    from nbgrader.api import Gradebook
    from sqlalchemy.exc import SAWarning

    readers: dict[str, dict[str, tuple[float | None, str]]] = {}
    with warnings.catch_warnings(), Gradebook(f"sqlite:///{sheet.course / 'gradebook.db'}") as book:
        warnings.simplefilter("ignore", SAWarning)  # of nbgrader's own way to add rows
        for result in results:
            entered = sheet.place / result.student / "entered.json"
            before = json.loads(entered.read_text(encoding="utf-8")) if entered.exists() else {}
            book.update_or_create_student(result.student)
            book.update_or_create_submission(sheet.assignment, result.student)
            notebook = book.find_submission_notebook(sheet.assignment, sheet.assignment, result.student)
            for grade in notebook.grades:
                found = result.cells.get(grade.name)
                if found is not None and not 0 <= found <= grade.max_score:
                    raise ValueError(
                        f"{result.student} has {found} of {grade.max_score} points in {grade.name}"
                    )
                grade.auto_score = found
                if before.get(grade.name) != result.versions.get(grade.name):
                    grade.needs_manual_grade = found is None
                    grade.manual_score = grade.manual_score if grade.cell.cell_type == "markdown" else None
            book.db.commit()
            keep(entered, result.versions)
            comments = {comment.name: comment.comment or "" for comment in notebook.comments}
            readers[result.student] = {
                grade.name: (None if grade.needs_manual_grade else grade.score, comments.get(grade.name, ""))
                for grade in notebook.grades
            }
    return readers


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Grade a class.")
    parser.add_argument("course", type=Path)
    parser.add_argument("assignment")
    parser.add_argument("submissions")
    parser.add_argument("--list", action="store_true", help="only write down which file is whose")
    parser.add_argument("--gradebook", help="the platform's exported CSV, to be filled in")
    parser.add_argument("--column", help="its column for the points, if its name does not tell")
    parser.add_argument("--jobs", type=int, default=2, help="submissions graded side by side")
    parser.add_argument("--seconds", type=float, default=300, help="time a submission may take")
    found = parser.parse_args(arguments)
    course, submissions = found.course, Path(found.submissions)
    made = sorted(path.name for path in (course / "source").glob("*/"))
    if found.assignment not in made:
        parser.error(
            f"{course} holds {', '.join(made) or 'no assignment'}, not {found.assignment!r}: "
            "COURSE is the folder course/ that `make assignments` made"
        )
    if not (found.submissions and submissions.is_dir()):
        parser.error(f"SUBMISSIONS must be a folder with a folder or a notebook a student, got {submissions}")
    place = course / "grading" / found.assignment
    try:
        students = claimed(Sheet(course.resolve(), found.assignment), submissions)
        print(f"{len(students)} students; which file is whose: {place}/students.csv")
        if found.list:
            return 0
        results = grade(course, found.assignment, submissions, found.jobs, found.seconds)
        if found.gradebook:
            print(reports.upload(place, Path(found.gradebook), found.assignment, found.column))
    except ValueError as error:
        print(f"Stopped: {error}", file=sys.stderr)
        return 1
    manual = sum(result.status != GRADED for result in results)
    print(f"{len(results)} submissions: {len(results) - manual} graded, {manual} need a manual grade.")
    print(f"The table: {place}/grades.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
