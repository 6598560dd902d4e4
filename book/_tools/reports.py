"""What a graded class is told: tables, a page for each student, and the platform's own table filled in."""

import csv
import html
import re
from pathlib import Path

import nbformat

PICTURE = re.compile(r"[A-Za-z0-9+/]+=*")
STYLE = """body{font:16px/1.5 sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}
pre{overflow-x:auto;background:#f4f4f4;padding:.6rem;white-space:pre-wrap}
td,th{text-align:left;padding:.2rem .8rem .2rem 0;vertical-align:top}img{max-width:100%}"""


def output(part: dict) -> nbformat.NotebookNode:
    """What a kernel showed, as a notebook's output: a text or a picture."""
    if PICTURE.fullmatch(str(part.get("png", ""))):
        return nbformat.v4.new_output("display_data", data={"image/png": part["png"]})
    return nbformat.v4.new_output("stream", name="stdout", text=str(part.get("text", "")))


def write(path: Path, head: list[str], rows: list) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(head)
        table.writerows([safe(cell) for cell in row] for row in rows)


def safe(cell: object) -> object:
    """A spreadsheet takes a text that begins so for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@") else cell


def number(points: float | None) -> str:
    return "" if points is None else f"{points:g}"


def tables(place: Path, results: list, readers: dict, most: tuple[int, int]) -> None:
    """grades.csv and cells.csv."""
    rows, cells = [], []
    for r in results:
        given = readers[r.student]
        total = sum(points or 0 for points, _ in given.values())
        waiting = sum(points is None for points, _ in given.values())
        by_tests = r.student, r.file, r.status, number(r.score), most[0]
        rows.append([*by_tests, number(total), sum(most), waiting, r.seconds, "; ".join(r.notes)])
        cells += [[r.student, cell, number(points)] for cell, (points, _) in sorted(given.items())]
    head = ["student", "file", "status", "by_tests", "most_by_tests", "points", "most", "waiting", "seconds"]
    write(place / "grades.csv", [*head, "notes"], rows)
    write(place / "cells.csv", ["student", "cell", "points"], cells)


def feedback(result, given: dict, graded: dict, notebook: nbformat.NotebookNode) -> str:
    """A student's page: points and messages by the names of the cells, then what was handed in."""
    lines = [f"<h1>{html.escape(result.student)}</h1>"]
    lines += [f"<p>{html.escape(note)}</p>" for note in result.notes]
    lines.append("<table><tr><th>cell</th><th>points</th><th>what was found</th></tr>")
    for label, cell in graded.items():
        points, comment = given[label]
        text = result.messages.get(label) or comment or ("waits for a reader" if points is None else "")
        of = f"{number(points)} of {cell.metadata.nbgrader.points}" if points is not None else "not yet"
        lines.append(f"<tr><td>{label}</td><td>{of}</td><td>{html.escape(text)}</td></tr>")
    lines.append("</table><h2>What you handed in</h2>")
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader")
        if about is None or about["solution"]:  # the sheet itself is not repeated
            lines.append(
                f"<h3>{about['grade_id'] if about else ''}</h3><pre>{html.escape(cell.source)}</pre>"
            )
            for shown in cell.get("outputs", ()):
                if shown.output_type == "stream":
                    lines.append(f"<pre>{html.escape(shown.text)}</pre>")
                else:
                    lines.append(f'<img alt="" src="data:image/png;base64,{shown.data["image/png"]}">')
    head = f'<meta charset="utf-8"><title>{html.escape(result.student)}</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en">{head}{"".join(lines)}</html>'


def upload(place: Path, export: Path, assignment: str, column: str | None = None) -> str:
    """Fill the points into the table that Canvas or Moodle exports; a line that says what was left out.

    A row belongs to the student whose number (Canvas: ID, Moodle: Participant ...) or whose name it holds.
    """
    with export.open(newline="", encoding="utf-8-sig") as file:
        head, *rows = csv.reader(file)
    named = [k for k, title in enumerate(head) if title == column or (not column and assignment in title)]
    named = named or [k for k, title in enumerate(head) if not column and title == "Grade"]
    if len(named) != 1:
        raise ValueError(f"--column must name one of the columns of {export}: {', '.join(head)}")
    with (place / "grades.csv").open(newline="", encoding="utf-8") as file:
        grades = {row["student"]: row for row in csv.DictReader(file)}
    at: dict[str, list[int]] = {}
    keys = [k for k, title in enumerate(head) if k != named[0]][:6]
    for k, row in enumerate(rows):
        for key in {row[i].strip().removeprefix("Participant ") for i in keys if i < len(row)} - {""}:
            at.setdefault(key, []).append(k)
    filled: dict[int, str] = {}
    waiting = 0
    for student, grade in grades.items():
        found = at.get(student.rpartition("_")[2]) or at.get(student) or []
        if len(found) > 1 or set(found) & filled.keys():
            raise ValueError(f"{student} and a row of {export} do not belong to each other alone")
        for k in found:
            filled[k] = student
            waiting += grade["waiting"] != "0"
            rows[k][named[0]] = grade["points"] if grade["waiting"] == "0" else ""
    with (place / "upload.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    missing = sorted(grades.keys() - set(filled.values()))
    return (
        f"{place}/upload.csv: {len(filled) - waiting} rows filled, {waiting} left empty until they are marked"
        f"; without a row: {', '.join(missing) or 'nobody'}"
    )
