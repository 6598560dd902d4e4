"""Make what a lecturer hands out from the sources of the assignments.

    python -m book._tools.assignments                          the versions of the repository
    ONESTEP_SEED=secret python -m book._tools.assignments      a variant of one's own, known to nobody else

The sources in book/assignments/ are notebooks with solutions, hidden tests and nbgrader's metadata. Made
from them, in _build/assignments/ (or _build/assignments-<hash of the seed>/):

    student/       what students get: solutions and hidden tests stripped
    solutions/     everything, to read
    one-gradient-step-assignments.zip   the student versions, for a learning platform
    course/        a folder for nbgrader: source, release, gradebook, settings; variant.txt: what was drawn

A line that ends in `# variant: 1, 2, 3` takes one of these values in a variant; `# variant: any` takes any
whole number. The draw depends on the seed, the assignment and the line, so that the same seed gives the same
assignments again. Without a seed the values stay as they are, and the marks are removed all the same.
"""

import argparse
import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

import nbformat
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SOURCES = "book/assignments"
PUBLISHED = "book/coursework"  # the student versions that the site shows
ARCHIVE = "one-gradient-step-assignments.zip"
VARIANT = re.compile(
    r"^(?P<name>.*= .*?)(?P<value>-?[\d.]+(?:e-?\d+)?)(?P<end>\)?)  # variant: (?P<choices>.+)$", re.MULTILINE
)
MARK = re.compile(r"^ *### (?:BEGIN|END) (?:SOLUTION|HIDDEN TESTS)\n?", re.MULTILINE)
SETTINGS = '''"""Settings of nbgrader for this course."""

import os

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "one-gradient-step"
c.CourseDirectory.root = os.path.dirname(os.path.abspath(__file__))
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE\\nraise NotImplementedError()"}
c.ClearSolutions.text_stub = "YOUR ANSWER HERE"
'''


def draw(source: str, name: str, seed: str | None) -> str:
    """The text of a cell with its variant's values."""

    def choose(found: re.Match[str]) -> str:
        value = found["value"]
        if seed is not None:
            words = f"{seed}/{name}/{found['name'].strip()}/{found['value']}"
            digest = hashlib.sha256(words.encode()).digest()
            rng = np.random.default_rng(list(digest))
            any_number = found["choices"].strip() == "any"
            value = str(rng.integers(2**31)) if any_number else str(rng.choice(found["choices"].split(", ")))
        return f"{found['name']}{value}{found['end']}"

    return VARIANT.sub(choose, source)


def drawn(path: Path, seed: str | None) -> list[str]:
    """The lines that a seed has drawn, as a lecturer looks them up."""
    cells = nbformat.read(path, as_version=4).cells
    lines = [found[0] for cell in cells for found in VARIANT.finditer(cell.source)]
    return [f"{path.stem}: {draw(line, path.stem, seed)}" for line in lines]


def sources(root: Path = ROOT) -> list[Path]:
    return sorted((root / SOURCES).glob("*.ipynb"))


def variant(path: Path, seed: str | None = None) -> nbformat.NotebookNode:
    """A source with the values of a seed, without outputs."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.source = draw(cell.source, path.stem, seed).replace("  # fmt: skip", "")
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def name(cell: nbformat.NotebookNode) -> str | None:
    """What nbgrader calls a cell."""
    return cell.metadata.get("nbgrader", {}).get("grade_id")


def solved(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The version to read: solutions and hidden tests in place, their marks and nbgrader's metadata gone."""
    found = nbformat.from_dict(notebook)
    for cell in found.cells:
        cell.source = MARK.sub("", cell.source)
        cell.metadata.pop("nbgrader", None)
    return found


def points(notebook: nbformat.NotebookNode) -> tuple[int, int]:
    """Points that tests give, and points that a reader gives."""
    marks = [cell.metadata.get("nbgrader", {}) for cell in notebook.cells]
    graded = [mark for mark in marks if mark.get("grade")]
    return (
        sum(mark["points"] for mark in graded if not mark["solution"]),
        sum(mark["points"] for mark in graded if mark["solution"]),
    )


def make(folder: Path, seed: str | None = None, root: Path = ROOT) -> dict[str, nbformat.NotebookNode]:
    """Write everything into `folder`, anew; the assignments by their names."""
    from nbgrader.apps import NbGraderAPI

    shutil.rmtree(folder, ignore_errors=True)
    course = folder / "course"
    made = {path.stem: variant(path, seed) for path in sources(root)}
    for name, notebook in made.items():
        write(notebook, course / "source" / name / f"{name}.ipynb")
        write(solved(notebook), folder / "solutions" / f"{name}.ipynb")
    lines = [line for path in sources(root) for line in drawn(path, seed)]
    (course / "variant.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (course / "nbgrader_config.py").write_text(SETTINGS, encoding="utf-8")
    api = NbGraderAPI(config=settings(course))
    for name in made:
        result = api.generate_assignment(name, force=True)
        if not result["success"]:
            raise RuntimeError(f"nbgrader could not make {name}:\n{result.get('log', result)}")
        student = nbformat.read(course / "release" / name / f"{name}.ipynb", as_version=4)
        write(student, folder / "student" / f"{name}.ipynb")
    shutil.make_archive(str(folder / ARCHIVE.removesuffix(".zip")), "zip", folder / "student")
    return made


def settings(course: Path):
    """The settings of a course, with its root as an absolute path."""
    from traitlets.config import PyFileConfigLoader

    # nbgrader starts `alembic` by its name, which stands beside this Python.
    os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    return PyFileConfigLoader("nbgrader_config.py", path=str(course.resolve())).load_config()


def write(notebook: nbformat.NotebookNode, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, path)


def publish(folder: Path, root: Path = ROOT) -> None:
    """Copy the student versions to where the site and Binder find them."""
    shutil.rmtree(root / PUBLISHED, ignore_errors=True)
    shutil.copytree(folder / "student", root / PUBLISHED)


def place(seed: str | None, root: Path = ROOT) -> Path:
    """Where a variant goes; the seed itself stands in no path."""
    if seed is None:
        return root / "_build" / "assignments"
    return root / "_build" / f"assignments-{hashlib.sha256(seed.encode()).hexdigest()[:8]}"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make the versions of the assignments.")
    parser.add_argument("--publish", action="store_true", help=f"also write {PUBLISHED}/, without a seed")
    found = parser.parse_args(arguments)
    seed = os.environ.get("ONESTEP_SEED") or None
    folder = place(seed)
    if (folder / "course" / "submitted").exists() or (folder / "course" / "grading").exists():
        print(f"{folder}/course holds submissions: move it away first.", file=sys.stderr)
        return 1
    for name, notebook in make(folder, seed).items():
        tests, reader = points(notebook)
        print(f"{name}: {tests} points by tests, {reader} by a reader")
    if found.publish and seed is None:
        publish(folder)
    print(f"Made in {folder}: student/, solutions/, {ARCHIVE}, course/")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
