"""Grade a class: collect, run each submission in a sandbox, check it from outside, and write feedback and tables.

    python -m book._tools.grading COURSE ASSIGNMENT SUBMISSIONS [--list] [--gradebook EXPORT.csv] [--jobs 2]

COURSE is the folder that `make assignments` made, SUBMISSIONS what a learning platform hands out (Canvas, Moodle,
nbgrader's `submitted`, or a folder or notebook a student). Each may also come from the environment, as
ONESTEP_COURSE, ONESTEP_ASSIGNMENT, ONESTEP_SUBMISSIONS, ONESTEP_GRADEBOOK. Written into COURSE:

    grading/ASSIGNMENT/students.csv     which file is whose, before anything is graded (`--list` stops there)
    grading/ASSIGNMENT/grades.csv       a line a student; cells.csv: a line for each graded cell
    grading/ASSIGNMENT/upload.csv       EXPORT.csv, the platform's own gradebook, with the points filled in
    autograded/, feedback/, gradebook   for nbgrader's formgrader and for students

A submission's cells run in a process of their own (`kernel`), inside bubblewrap where that is installed. The tests
run outside of it: they call the functions of the submission, and only numbers come back. A test cell that fails
because of an earlier answer is checked again with the sheet's own function in that one's place, and the better of
the two counts. A batch that was killed goes on where it stopped.
"""

import argparse
import ast
import contextlib
import ctypes
import functools
import hashlib
import json
import multiprocessing
import multiprocessing.connection
import os
import re
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unicodedata
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path

import matplotlib
import nbformat
import tqdm

from book._tools import kernel, reports
from book._tools.assignments import MARK, ROOT, name, points

GRADED, MANUAL = "graded", "needs manual grade"
MEMORY, FILE_SIZE, PROCESSES = 4 * 2**30, 50 * 2**20, 200  # of a submission: bytes, bytes, number
LARGEST, CELLS = 50 * 2**20, 2000  # bytes and cells of a notebook that is read at all
LINE = 64 * 2**20  # characters of one answer of a submission
OPEN = "bubblewrap does not work here: a submission can read your files, use the network and outlive its grading."
SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache")
EXPORTS = (
    re.compile(r"(?P<student>.+?_\d+)_assignsubmission_(?:file|onlinetext)_?.*"),  # Moodle
    re.compile(r"(?P<student>.+?)(?:_LATE)?(?P<number>_\d{2,})(?:_\d+)?_.+"),  # Canvas
)


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


def student_of(path: Path, assignment: str) -> str:
    """Whose a file or folder is: what its platform calls the student, as a name that a folder can have."""
    text = os.fsencode(path.name).decode("utf-8", "backslashreplace")  # an old zip's names need not be UTF-8
    text = unicodedata.normalize("NFC", text if path.is_dir() else text.removesuffix(path.suffix))
    for export in EXPORTS:
        if found := export.fullmatch(text):
            text = "".join(found.groups())
            break
    text = text.removesuffix(f"_{assignment}")
    return re.sub(r"^[.@-]|[^\w.@ -]", lambda found: f"%{ord(found[0]):02X}", text)


def collect(folder: Path, assignment: str, others: frozenset[str] = frozenset()) -> dict[str, list[Path]]:
    """The notebooks of each student; no entry of the folder is left out, and none is given to two."""
    claims: dict[str, list[tuple[Path, list[Path]]]] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "__MACOSX")) or path.suffix.lower() == ".csv":
            continue  # what other systems leave, and the platform's table
        inside = sorted(path.rglob("*")) if path.is_dir() and not path.is_symlink() else [path]
        inside = [p for p in inside if p.suffix.lower() == ".ipynb" and p.stem not in others - {assignment}]
        inside = [
            p for p in inside if not any(x.startswith((".", "__MACOSX")) for x in p.relative_to(folder).parts)
        ]
        inside = [p for p in inside if p.is_symlink() or not p.is_dir()]
        found = [p for p in inside if p.stem == assignment] or inside
        claims.setdefault(student_of(path, assignment), []).append((path, found))
    students, seen = {}, {}
    for student, entries in claims.items():
        full = [entry for entry in entries if entry[1]] or entries[:1]
        double = seen.setdefault(student.casefold(), full[0][0])
        if len(full) > 1 or double is not full[0][0]:
            names = ", ".join(sorted({ascii(p.name) for p in [double] + [p for p, _ in full]}))
            raise ValueError(f"two submissions claim the student {student!r}: {names}. Keep one.")
        students[student] = full[0][1]
    return students


def content(paths: list[Path]) -> bytes:
    """The one notebook among them; ValueError where there is none that can be read."""
    if len(paths) != 1:
        names = ", ".join(ascii(p.name) for p in paths[:5])
        raise ValueError(f"several notebooks, keep one: {names}" if paths else "there is no notebook")
    handle = os.open(paths[0], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a link is not followed
    with open(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_size > LARGEST:
            raise ValueError(f"it is no file of at most {LARGEST // 2**20} MB")
        return file.read(LARGEST)


def repair(text: str | bytes, release: nbformat.NotebookNode) -> tuple[nbformat.NotebookNode, list[str]]:
    """A submission with every cell of the release, and what had to be done.

    Outputs and metadata go. Of a given cell that stands there twice the first is kept, of an answer and a
    test the last. A cell that is missing is put back after the one that precedes it in the release, and
    cells that students should not touch get their text back.
    """
    raw = json.loads(text)
    if not isinstance(raw, dict) or not isinstance(raw.get("cells"), list):
        raise ValueError("it is no notebook")
    known = {label: cell for cell in release.cells if (label := name(cell))}
    given = [
        old for old in raw["cells"] if isinstance(old, dict) and (old.get("source") or old.get("metadata"))
    ]
    if len(given) > CELLS:
        raise ValueError(f"it has more than {CELLS} cells")
    cells = [as_known(old, known) for old in given]
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
    source = "".join(map(str, source)) if isinstance(source, list) else str(source)
    metadata = old.get("metadata")
    own = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    label = own.get("grade_id") if isinstance(own, dict) else None
    original = known.get(label) if isinstance(label, str) else None
    kind = original.cell_type if original is not None else old.get("cell_type")
    make = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    cell = make(source)
    if original is not None:
        cell.metadata["nbgrader"] = dict(original.metadata["nbgrader"])
    return cell


class Dead(Exception):
    """The process of a submission has ended, or was ended."""


@functools.cache
def sandbox() -> tuple[str, ...]:
    """The command that shuts a process in, empty where it does not work here."""
    bind = [
        *SYSTEM, sys.base_prefix, sys.prefix, str(ROOT / "onestep_lib"), str(Path(kernel.__file__).resolve())
    ]  # fmt: skip
    fonts = sorted(Path(matplotlib.get_cachedir()).glob("fontlist*.json"))
    command = (
        "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        *(word for path in bind for word in ("--ro-bind-try", path, path)),
        "--proc", "/proc", "--dev", "/dev", "--size", str(4 * FILE_SIZE), "--tmpfs", "/tmp",
        *(word for path in fonts for word in ("--ro-bind", str(path), f"/tmp/{path.name}")),
        "--chdir", "/tmp", "prlimit", f"--nproc={PROCESSES}",
    )  # fmt: skip
    works = shutil.which("bwrap") and subprocess.run([*command, "true"], capture_output=True).returncode == 0
    return command if works else ()


class Kernel(kernel.Peer):
    """A submission's process, as the grader sees it."""

    def __init__(self, until: float):
        self.folder = tempfile.TemporaryDirectory()  # where there is no sandbox, the folder that it works in
        home = "/tmp" if sandbox() else self.folder.name
        limits = ("prlimit", f"--as={MEMORY}", f"--fsize={FILE_SIZE}", "--core=0")
        self.process = subprocess.Popen(
            [*sandbox(), *(limits if shutil.which("prlimit") else ()), sys.executable, kernel.__file__],
            env={
                "PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": str(ROOT), "HOME": home,
                "IPYTHONDIR": home, "MPLCONFIGDIR": home, "PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8",
                "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
            },
            cwd=self.folder.name, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        self.until, self.got = until, b""
        super().__init__(self.take, self.put)

    def put(self, line: str) -> None:
        self.patience = min(self.until, time.monotonic() + 1.5 * kernel.SECONDS)
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Dead("the kernel died") from None

    def take(self) -> str:
        parts, size = [self.got], len(self.got)
        while b"\n" not in parts[-1]:
            left = self.patience - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Dead("stopped: it took too long")
            parts.append(os.read(self.process.stdout.fileno(), 2**20))
            size += len(parts[-1])
            if not parts[-1] or size > LINE:
                raise Dead("the kernel died" if not parts[-1] else "an answer was too long")
        line, _, self.got = b"".join(parts).partition(b"\n")
        return line.decode()

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # in a sandbox everything ends with it
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.folder.cleanup()


@dataclass
class Verdict:
    """What a test cell found: for each of its checks 1, or 1/2 where the mistake was named, or 0."""

    lines: dict[int, float] = field(default_factory=dict)
    message: str = ""

    def share(self, full: "Verdict") -> float:
        return sum(self.lines.get(line, 0) for line in full.lines) / len(full.lines)

    def right(self, full: "Verdict") -> bool:
        return not self.message and self.share(full) == 1

    def check(self, line: int, passed: bool, message: str, known: bool = False) -> None:
        self.lines[line] = min(self.lines.get(line, 1), 1 if passed else known / 2)
        if not passed:
            self.message = self.message or message


class Recorded(ast.NodeTransformer):
    """Asserts and calls of `compare` that write down what they find and let the cell go on."""

    def __init__(self, after: int):
        self.after = after  # what stands above the hidden tests must hold for any of them to count

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if node.lineno <= self.after:
            return node
        message = ast.unparse(node.msg) if node.msg else repr(ast.unparse(node.test))
        call = ast.parse(f"_assert({node.lineno}, 0, lambda: {message})").body[0]
        call.value.args[1] = node.test
        return call

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "compare":
            node.value.func.id = "_compare"
            node.value.args.insert(0, ast.Constant(node.lineno))
        return node


def check(source: str, space: dict) -> Verdict:
    """Run a test cell on the names of `space`."""
    verdict = Verdict()

    def passes(line: int, test: object, message) -> None:
        verdict.check(line, bool(test), "" if test else str(message()))

    def compares(line: int, title: str, *args, **named) -> None:
        suspects = args[3] if len(args) > 3 else named.get("suspects", ())
        try:
            space["compare"](title, *args, **named)
            verdict.check(line, True, "")
        except AssertionError as error:
            known = any(str(error) == f"{title}: {reason}" for reason, _ in suspects)
            verdict.check(line, False, str(error), known)

    after = source[: source.find("### BEGIN HIDDEN")].count("\n") if "### BEGIN HIDDEN" in source else 0
    tree = ast.fix_missing_locations(Recorded(after).visit(ast.parse(source)))
    try:
        exec(compile(tree, "<test>", "exec"), space | {"_assert": passes, "_compare": compares})
    except Dead:
        raise
    except Exception as error:  # an answer that cannot be called, or that is no number
        plain = str(error) if isinstance(error, AssertionError | RuntimeError) else kernel.told(error)
        plain = "this is not answered yet" if plain.startswith("NotImplementedError") else plain
        verdict.message = verdict.message or plain
    return verdict


def plain(source: str) -> str:
    """A cell without the commands of IPython."""
    return re.sub(r"^(\s*)%.*$", r"\1pass", source, flags=re.MULTILINE)


def defined(source: str) -> set[str]:
    """The names that an answer has to define."""
    tree = ast.parse(source)
    stored = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return stored | {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def examine(
    notebook: nbformat.NotebookNode, source: nbformat.NotebookNode, until: float,
    found: dict[str, Verdict], full: dict[str, Verdict] | None = None,
) -> str:  # fmt: skip
    """Run a notebook and check it; with `full`, an answer is replaced by the sheet's own once it has failed.

    The verdicts are written into `found`, the outputs into the notebook; returned is why it ended early, if it did.
    """
    given = {label: cell for cell in source.cells if (label := name(cell))}
    answers = {
        label: MARK.sub("", cell.source)
        for label, cell in given.items()
        if cell.metadata.nbgrader.solution and cell.cell_type == "code"
    }
    wanted = set().union(*map(defined, answers.values()))
    space: dict = {}
    task, tested, failed = [], False, False  # the answers that the next tests are about, and what these found
    process, cell = Kernel(until), None
    try:
        for cell in notebook.cells:
            label = name(cell)
            if cell.cell_type != "code" or not cell.source.strip():
                continue
            test = label in given and label not in answers and given[label].metadata.nbgrader.grade
            if tested and not test:
                for answer in task if full and failed else ():
                    process.ask(**{"do": "run", "with": answers[answer]})
                task, tested, failed = [], False, False
            shown = process.ask(**{"do": "run", "with": cell.source})
            if test:
                tree = ast.parse(given[label].source)
                used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & wanted
                values = process.ask(**{"do": "names", "with": sorted(used)})
                found[label] = check(
                    given[label].source, space | {key: process.unpack(value) for key, value in values.items()}
                )
                tested, failed = True, failed or not (full and found[label].right(full[label]))
            else:
                cell.outputs = [reports.output(part) for part in shown]
                if label in answers:
                    task.append(label)
                elif label in given:
                    exec(plain(given[label].source), space)
    except Dead as ended:
        cell.outputs = [reports.output({"text": str(ended)})]
        return f"{ended}, in {label or 'a cell of the student'}"
    except Exception as error:  # an answer in words that no kernel of ours speaks
        return f"the kernel answered what the grader does not understand: {type(error).__name__}"
    finally:
        process.close()
    return ""


def solved(release: nbformat.NotebookNode, source: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The sheet with its own answers, as a student would hand it in."""
    notebook = nbformat.from_dict(release)
    own = {name(c): c.source for c in source.cells if c.metadata.get("nbgrader", {}).get("solution")}
    for cell in notebook.cells:
        cell.source = MARK.sub("", own.get(name(cell), cell.source))
    return notebook


@dataclass
class Sheet:
    """An assignment of a course: what was set, what was handed out, and what the sheet's own answers get."""

    course: Path
    assignment: str
    full: dict[str, Verdict] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.source, self.release = (
            nbformat.read(self.course / kind / self.assignment / f"{self.assignment}.ipynb", as_version=4)
            for kind in ("source", "release")
        )
        self.graded = {
            name(cell): cell for cell in self.source.cells if cell.metadata.get("nbgrader", {}).get("grade")
        }
        self.place = self.course / "grading" / self.assignment

    def prove(self) -> None:
        """Grade the sheet's own answers: they say how many checks a cell has, and must pass all of them."""
        ended = examine(solved(self.release, self.source), self.source, time.monotonic() + 600, self.full)
        wrong = [f"{label}: {verdict.message}" for label, verdict in self.full.items() if verdict.message]
        if ended or wrong:
            raise ValueError(f"the sheet's own answers fail: {ended} {'; '.join(wrong)}")

    def mark(self, result: Result, paths: list[Path], until: float) -> None:
        """Grade one submission, and leave what formgrader and the feedback read."""
        notebook, found, better, ended = nbformat.from_dict(self.release), {}, {}, "not readable"
        try:
            notebook, repaired = repair(content(paths), self.release)
            result.notes += repaired
            ended = examine(notebook, self.source, until, found)
            fails = [
                label for label, full in self.full.items() if label in found and not found[label].right(full)
            ]
            if not ended and len(fails) > 1:
                examine(nbformat.from_dict(notebook), self.source, until, better, self.full)
            result.status = MANUAL if ended else GRADED
        except Exception as error:  # whatever a file may hold
            ended = f"not readable: {error}"[:300]
        result.notes += [ended] if ended else []
        for cell in notebook.cells:
            label = name(cell)
            if label not in self.graded:
                continue
            most = self.graded[label].metadata.nbgrader.points
            result.versions[label] = hashlib.sha256(cell.source.encode()).hexdigest()
            if label in self.full:
                result.versions[label] = result.of
                result.cells[label], result.messages[label] = self.points(label, found, better, most)
                cell.outputs = [reports.output({"text": result.messages[label] or "passed"})]
            else:
                blank = next(c.source for c in self.release.cells if name(c) == label)
                result.cells[label] = 0.0 if not ended and cell.source.strip() == blank.strip() else None
        keep_notebook(self.course, self.assignment, result.student, notebook)

    def points(self, label: str, found: dict, better: dict, most: float) -> tuple[float | None, str]:
        """Points and message of a test cell, of the two ways to check it the better."""
        if label not in found:
            return None, "not reached: the run ended before"
        full, own = self.full[label], found[label]
        shares = own.share(full), better[label].share(full) if label in better else 0
        message = own.message
        if shares[1] > shares[0]:
            message = better[label].message or (
                "Passed with our functions in place of earlier answers that fail: their mistake counts once."
            )
        return round(2 * most * max(shares)) / 2, message


def keep_notebook(course: Path, assignment: str, student: str, notebook: nbformat.NotebookNode) -> None:
    for kind in ("submitted", "autograded"):
        path = course / kind / student / assignment / f"{assignment}.ipynb"
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)


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
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (1, 2):
        os.dup2(nowhere, number)
    began = time.monotonic()
    sheet.mark(result, paths, began + seconds)
    result.seconds = round(time.monotonic() - began, 1)
    keep(sheet.place / result.student / "result.json", asdict(result))


def grade(
    course: Path, assignment: str, submissions: Path, jobs: int = 2, seconds: float = 180, quiet: bool = False
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
        if not sandbox():
            print(OPEN, file=sys.stderr)
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
                    result.notes.append("grading it took too long or too much memory")
                    sheet.mark(result, [], 0)
                    keep(sheet.place / result.student / "result.json", asdict(result))
                results.append(done or result)
                del running[sentinel]
                bar.update()
    results.sort(key=lambda result: result.student)
    readers = enter(sheet, results)
    reports.tables(sheet.place, results, readers, points(sheet.source))
    for result in results:
        page = sheet.course / "feedback" / result.student / assignment / f"{assignment}.html"
        autograded = sheet.course / "autograded" / result.student / assignment / f"{assignment}.ipynb"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(
            reports.feedback(result, readers[result.student], sheet.graded, nbformat.read(autograded, 4)),
            "utf-8",
        )
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
    """Put the points into the gradebook of the course; what a reader has given there, {student: {cell: (points, comment)}}.

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
    told = {
        key: os.environ.get(f"ONESTEP_{key.upper()}") or None
        for key in ("course", "assignment", "submissions", "gradebook")
    }
    parser = argparse.ArgumentParser(description="Grade a class.")
    for key in ("course", "assignment", "submissions"):
        parser.add_argument(key, nargs="?", default=told[key])
    parser.add_argument("--list", action="store_true", help="only write down which file is whose")
    parser.add_argument(
        "--gradebook", default=told["gradebook"], help="the platform's exported CSV, to be filled in"
    )
    parser.add_argument("--column", help="its column for the points, if its name does not tell")
    parser.add_argument("--jobs", type=int, default=2, help="submissions graded side by side")
    parser.add_argument("--seconds", type=float, default=180, help="time a submission may take")
    found = parser.parse_args(arguments)
    course, submissions = Path(found.course or "."), Path(found.submissions or "")
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
