"""Building the site: no answer depends on earlier builds, and chapters run again when they must."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from book._tools import build
from book._tools import chapters as running

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))

from onestep_book import cache  # noqa: E402

CONFIG = f"""\
title: Small
only_build_toc_files: true
execute: {{execute_notebooks: cache}}
sphinx:
  local_extensions: {{onestep_book: {str(ROOT / "book" / "_ext")!r}}}
"""
TOC = "format: jb-book\nroot: book/intro\nchapters: [{file: book/01-a}, {file: book/more}]\n"
# One process for all builds of a test: most of a small build is the start of Python.
BUILDER = """\
import sys
from pathlib import Path
from book._tools import build
from book._tools import chapters as running

for line in sys.stdin:
    status = build.main(Path(sys.argv[1]))
    print("status", status, flush=True)
"""


def write_chapter(path: Path, code: str, label: str) -> None:
    cells = [new_markdown_cell(f"# A\n\n({label})=\n\n## B\n\nText."), new_code_cell(code)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(new_notebook(cells=cells, metadata=kernel), path)


class SmallBook:
    """A book of three pages in a folder, and a process that builds it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "book").mkdir()
        (root / "_config.yml").write_text(CONFIG, "utf-8")
        (root / "_toc.yml").write_text(TOC, "utf-8")
        self.write("intro", "# Intro\n\nA first page.\n")
        self.write("more", "# More\n\nSee {ref}`there` again.\n")
        self.chapter("print(1 + 1)")
        self.process = subprocess.Popen(
            [sys.executable, "-c", BUILDER, str(root)], cwd=ROOT, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def write(self, page: str, text: str) -> None:
        (self.root / "book" / f"{page}.md").write_text(text, "utf-8")

    def chapter(self, code: str, label: str = "there") -> None:
        write_chapter(self.root / "book" / "01-a.ipynb", code, label)

    def build(self) -> tuple[int, str]:
        """Status and output of one build."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line.startswith("status "):
                return int(line.split()[1]), "".join(lines)
            lines.append(line)
        raise RuntimeError("".join(lines))

    def page(self, name: str) -> Path:
        return self.root / "_build" / "html" / "book" / f"{name}.html"


@pytest.fixture
def small(tmp_path):
    book = SmallBook(tmp_path)
    yield book
    book.process.stdin.close()
    book.process.wait(timeout=60)
    book.process.stdout.close()


def test_a_build_says_the_same_whatever_the_last_one_left(small):
    status, printed = small.build()
    assert status == 0, printed
    assert "Executed notebook" in printed
    assert "Nothing has changed" in small.build()[1]
    grades = small.root / "_build" / "assignments-1234" / "course" / "gradebook.db"
    grades.parent.mkdir(parents=True)
    grades.write_text("a lecturer's", "utf-8")
    assert "Nothing has changed" in small.build()[1]
    record = small.root / build.RECORD
    lines = record.read_text("utf-8").splitlines()
    record.write_text("\n".join(lines[:-1]), "utf-8")
    assert "Nothing has changed" in small.build()[1], "a package was installed since"
    record.write_text("\n".join([*lines, "gone==1.0"]), "utf-8")
    assert "Nothing has changed" not in small.build()[1], "a package is gone"

    small.chapter("1 / 0")
    for _ in range(2):
        status, printed = small.build()
        assert status == 1
        assert "CellExecutionError" in printed
    small.chapter("print(1 + 1)")
    status, printed = small.build()
    assert status == 0, printed
    assert "Executed notebook" not in printed, "the outputs of the first build are still there"

    whole = small.page("more").read_text("utf-8")
    small.page("more").write_text(whole[:100], "utf-8")
    assert small.build()[0] == 0
    assert small.page("more").read_text("utf-8") == whole
    assert grades.read_text("utf-8") == "a lecturer's", "whole builds leave what other targets made"


def test_a_dead_reference_on_an_unchanged_page_is_found(small):
    assert small.build()[0] == 0
    small.chapter("print(1 + 1)", label="elsewhere")
    for _ in range(2):
        status, printed = small.build()
        assert status == 1
        assert "undefined label: 'there'" in printed
    small.write("more", "# More\n\nSee {ref}`elsewhere` again.\n")
    assert small.build()[0] == 0


@pytest.mark.slow
def test_a_torn_chapter_cache_is_made_again(small):
    assert small.build()[0] == 0
    (executed,) = small.root.glob("_build/.chapters/*/executed/*/base.ipynb")
    executed.write_text(executed.read_text("utf-8")[:50], "utf-8")
    (small.root / build.RECORD).unlink()
    status, printed = small.build()
    assert status == 0, printed
    assert "Executed notebook" in printed


def test_chapters_are_run_side_by_side_and_kept_one_by_one(tmp_path, capsys):
    (tmp_path / "book").mkdir()
    names = ("a", "b", "c")
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/a\nchapters: [{file: book/b}, {file: book/c}]\n", "utf-8"
    )
    # Each of the first two waits for the other: one after another would never end well.
    meet = (
        "import os, pathlib, time\nassert os.environ['ONESTEP_STATIC']\npathlib.Path('{0}.ran').touch()\n"
        "while not pathlib.Path('{1}.ran').exists(): time.sleep(0.05)"
    )
    codes = (meet.format("a", "b"), meet.format("b", "a"), "1 / 0")
    paths = [tmp_path / "book" / f"{name}.ipynb" for name in names]
    for path, code in zip(paths, codes, strict=True):
        write_chapter(path, code, path.stem)
    running.run_chapters(tmp_path, timeout=60, workers=2)
    assert "3/3" in capsys.readouterr().out
    kept = running.get_cache(str(cache.cache_of_this_library(tmp_path, tmp_path / "_build")))
    assert [running.is_kept(kept, path) for path in paths] == [True, True, False], (
        "a failure is Sphinx's to report"
    )
    write_chapter(paths[0], "2", "a")
    assert not running.is_kept(kept, paths[0])
    assert running.is_kept(kept, paths[1])


@pytest.mark.parametrize(
    ("name", "text", "runs_again"),
    [
        ("a.py", '"""Other words."""\n\ndef f(x):\n    return x + 1\n', False),
        ("a.py", '"""Words."""\ndef f(x):\n    return x + 2  # a comment\n', True),
        ("a.py", "def f(x):\n    'words'\n    return x + 1\n", False),
        ("a.py", "def f(x):\n    x\n    return x + 1\n", True),
        ("room/new.py", "", True),
        ("look.js", "2", True),
        ("new.css", "2", True),
        ("notes.txt", "not read by any chapter", False),
    ],
)
def test_the_chapter_cache_follows_what_the_library_computes(tmp_path, name, text, runs_again):
    (tmp_path / "room").mkdir()
    (tmp_path / "a.py").write_text('"""Words."""\ndef f(x):\n    return x + 1  # a comment\n', "utf-8")
    (tmp_path / "look.js").write_text("1", "utf-8")
    first = cache.library_hash(tmp_path)
    assert cache.library_hash(tmp_path) == first
    (tmp_path / name).write_text(text, "utf-8")
    assert (cache.library_hash(tmp_path) != first) == runs_again


def test_what_chapters_compute_does_not_depend_on_docstrings():
    # The cache passes over them.
    asking = {p.name for p in (ROOT / "onestep_lib").rglob("*.py") if "__doc__" in p.read_text("utf-8")}
    assert not asking
    chapters = "".join(path.read_text("utf-8") for path in (ROOT / "book").glob("*.ipynb"))
    assert not re.search(r"__doc__|getsource|\bhelp\(", chapters)


def test_a_moved_checkout_is_told_what_to_do(tmp_path):
    for name in ("Makefile", "pyproject.toml", "package-lock.json", "requirements.txt", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "made").write_text("/where/it/was\n", "utf-8")
    reply = subprocess.run(["make", "book"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert reply.returncode != 0
    assert "made in /where/it/was" in reply.stdout
    assert "rm -rf .venv" in reply.stdout
