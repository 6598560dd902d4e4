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

    claims: dict[str, list[tuple[Path, list[Path]]]] = {}
    for path in sorted(folder.iterdir()):
        if left(path) or path.suffix.lower() == ".csv":  # a table of the platform
            continue
        inside = path.rglob("*") if path.is_dir() and not path.is_symlink() else [path]
        inside = sorted(p for p in inside if wanted(p) and not left(p))
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
