"""What students hand in: whose each file is, and a notebook with every cell of the sheet."""

import hashlib
import json
import os
import re
import stat
import unicodedata
from pathlib import Path

import nbformat

from book._tools.assignments import name

LARGEST, CELLS = 50 * 2**20, 2000  # bytes and cells of a notebook that is read at all
EXPORTS = (
    re.compile(r"(?P<student>.+?_\d+)_assignsubmission_(?:file|onlinetext)_?.*"),  # Moodle
    re.compile(r"(?P<student>.+?)(?:_LATE)?(?P<number>_\d{2,})(?:_\d+)?_.+"),  # Canvas
)


def student_of(path: Path, assignment: str) -> str:
    """Whose a file or folder is: what its platform calls the student, as a name that a folder can have."""
    text = os.fsencode(path.name).decode("utf-8", "backslashreplace")  # an old zip's names need not be UTF-8
    text = unicodedata.normalize("NFC", text if path.is_dir() else text.removesuffix(path.suffix))
    for export in EXPORTS:
        if found := export.fullmatch(text):
            text = "".join(found.groups())
            break
    text = text.removesuffix(f"_{assignment}") or text
    text = re.sub(r"^[.@-]|[^\w.@ -]", lambda found: f"%{ord(found[0]):02X}", text)
    # A folder's name has its limit too.
    return (
        text if len(text.encode()) < 150 else f"{text[:30]}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    )


def collect(folder: Path, assignment: str, others: frozenset[str] = frozenset()) -> dict[str, list[Path]]:
    """The notebooks of each student; no entry of the folder is left out, and none is given to two."""

    def left(path: Path) -> bool:  # by another system, beside what a student handed in
        return any(part.startswith((".", "__MACOSX")) for part in path.relative_to(folder).parts)

    def wanted(path: Path) -> bool:
        a_file = path.is_symlink() or not path.is_dir()
        return a_file and path.suffix.lower() == ".ipynb" and path.stem not in others - {assignment}

    claims: dict[str, list[tuple[str, Path, list[Path]]]] = {}  # one name where case makes no difference
    for path in sorted(folder.iterdir()):
        if left(path) or path.suffix.lower() == ".csv":  # a table of the platform
            continue
        inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
        inside = sorted(p for p in inside if wanted(p) and not left(p))
        found = [p for p in inside if p.stem == assignment] or inside
        student = student_of(path, assignment)
        claims.setdefault(student.casefold(), []).append((student, path, found))
    students = {}
    for entries in claims.values():
        (student, _, found), *more = [entry for entry in entries if entry[2]] or entries[:1]
        if more or {name for name, _, _ in entries} != {student}:
            names = ", ".join(ascii(path.name) for _, path, _ in entries)
            raise ValueError(f"two submissions claim the student {student!r}: {names}. Keep one.")
        students[student] = found
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
    """The release with a submission's answers and own cells in it, and what was not as it was handed out.

    Nothing but texts is taken over. A cell of the student's own stands above the cell of the release that
    follows it; so does, of an answer that is there twice, the earlier one, which the later one may use.
    """
    raw = json.loads(text)
    if not isinstance(raw, dict) or not isinstance(raw.get("cells"), list):
        raise ValueError("it is no notebook")
    given = [cell for cell in raw["cells"] if isinstance(cell, dict)]
    given = [cell for cell in given if cell.get("source") or label_of(cell)]
    if len(given) > CELLS:
        raise ValueError(f"it has more than {CELLS} cells")
    known = {label: cell for cell in release.cells if (label := name(cell))}
    answers: dict[str, list[str]] = {label: [] for label in known}
    above: dict[str, list[nbformat.NotebookNode]] = {label: [] for label in known}
    own: list[nbformat.NotebookNode] = []
    for cell in given:
        source, label = cell.get("source", ""), label_of(cell)
        source = "".join(map(str, source)) if isinstance(source, list) else str(source)
        if label in known:
            answers[label].append(source)
            above[label] += own
            own = []
        else:
            own.append(new_cell(cell.get("cell_type"), source))
    cells, notes = [], []
    for label, original in known.items():
        *earlier, last = answers[label] or [original.source]
        if earlier:
            notes.append(f"{label} stood there {len(answers[label])} times")
        if not answers[label]:
            notes.append(f"{label} was missing")
        if not original.metadata["nbgrader"]["solution"]:
            if last.strip() != original.source.strip():
                notes.append(f"{label} was changed")
            earlier, last = [], original.source
        cells += above[label] + [new_cell(original.cell_type, source) for source in earlier]
        cells.append(nbformat.from_dict({**original, "source": last}))
    return nbformat.v4.new_notebook(cells=cells + own, metadata=release.metadata), notes


def new_cell(kind: object, source: str) -> nbformat.NotebookNode:
    return (nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell)(source)


def label_of(cell: object) -> str:
    """What a submitted cell, whatever it holds, says that it is called."""
    for key in ("metadata", "nbgrader", "grade_id"):
        cell = cell.get(key) if isinstance(cell, dict) else None
    return cell if isinstance(cell, str) else ""
