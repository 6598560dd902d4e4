"""Each chapter as one lesson: goals, a plan for 45 and for 90 minutes, the board, errors, exercises.

    ```{teaching}
    ```

draws `book/teaching.yml` as one section for each chapter that has a notebook. Everything that a lesson names
becomes a link: a label by Sphinx's own roles, a section by its address. What is gone is a warning, which
stops the build.
"""

import json
import re
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from myst_parser.mdit_to_docutils.base import default_slugify
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .map import Chapter, chapters, words

TABLE = "teaching.yml"
LENGTHS = (45, 90)  # minutes of a lesson
HEAD = ("| 45 | 90 | Show | Do |", "| --: | --: | --- | --- |")
FIRST = ("the first screen", "")


def connect(app: Sphinx) -> None:
    app.add_directive("teaching", Teaching)


def lessons(book: Path) -> list[dict]:
    return yaml.safe_load((book / TABLE).read_text("utf-8"))


def headings(notebook: Path) -> list[str]:
    """The titles of a chapter's sections and of their parts, in order."""
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return re.findall(r"^#{2,3} (.+?) *$", text, re.MULTILINE)


def section_of(place: str, titles: list[str]) -> tuple[str, str]:
    """What a plan calls a section, and the section's address on the chapter's page.

    >>> section_of("Step 2", ["In words", "Step 1. A", "Step 2. Why $c_1$ survives"])
    ('Step 2', '#step-2-why--survives')
    """
    if not place:
        return FIRST
    found = [title for title in titles if title == place or title.startswith(f"{place}.")]
    if len(found) != 1:
        raise ValueError(f"no section {place!r} among {titles}")
    return place, "#" + slug(found[0])


def slug(title: str) -> str:
    """A heading's address as the Markdown parser makes it: formulas left out, spaces turned into hyphens."""
    return default_slugify(re.sub(r"\$[^$]*\$", "", title))


def shown(label: str) -> str:
    """The role that leads to a figure, a question, an exercise or an explorer.

    >>> shown("fig-blur"), shown("predict-02-fade"), shown("spike-explorer")
    ('{numref}`fig-blur`', '{ref}`vote <predict-02-fade>`', '{ref}`explorer <spike-explorer>`')
    """
    if label.startswith(("fig-", "ex-")):
        return f"{{numref}}`{label}`"
    return f"{{ref}}`{'vote' if label.startswith('predict-') else 'explorer'} <{label}>`"


def misconceptions(book: Path) -> dict[str, str]:
    """The sentences that sound right, by label; their formulas stay formulas in a link."""
    text = (book / "misconceptions.md").read_text("utf-8")
    return dict(re.findall(r"^\((mis-\S+)\)=\n+#+ (.+)$", text, re.MULTILINE))


def plan_row(row: dict, stem: str, titles: list[str]) -> str:
    name, address = section_of(row["at"], titles)
    times = " | ".join(str(minutes or "–") for minutes in row["min"])
    about = [f"[{name[0].upper()}{name[1:]}]({stem}.ipynb{address})", *map(shown, row["show"])]
    return f"| {times} | {', '.join(about)} | {row['do']} |"


def lesson_text(lesson: dict, chapter: Chapter, titles: list[str], wrong: dict[str, str]) -> str:
    """One lesson as Markdown, without its heading."""
    plan = [plan_row(row, chapter.stem, titles) for row in lesson["plan"]]
    totals = [f"**{sum(row['min'][k] for row in lesson['plan'])}**" for k in range(len(LENGTHS))]
    needs = f" It needs {words(chapter.needs)}." if chapter.needs else ""
    blocks = [
        f"[Chapter {chapter.number}]({chapter.stem}.ipynb) is read in {chapter.whole} minutes.{needs}"
        " Afterwards a student can",
        "\n".join(f"- {goal}{end}" for goal, end in zip(lesson["goals"], (",", ", and", "."), strict=True)),
        "\n".join([*HEAD, *plan, f"| {' | '.join(totals)} | minutes | |"]),
        f"**Leave out.** {lesson['skip']}",
        "**Board.**",
        "\n".join(f"{k}. {line}" for k, line in enumerate(lesson["board"], 1)),
        "**Common errors.**",
        "\n".join(f"- [{wrong[error['is']]}]({error['is']}): {error['say']}" for error in lesson["errors"]),
        "**At home.** " + ", ".join(map(shown, lesson["home"])) + ".",
    ]  # fmt: skip
    return "\n\n".join(blocks)


class Teaching(SphinxDirective):
    """All lessons, each a section of the page."""

    def run(self) -> list[nodes.Node]:
        book = Path(self.env.srcdir) / "book"
        known = {chapter.stem: chapter for chapter in chapters(book) if chapter.stem}
        for file in [book / TABLE, book / "misconceptions.md", *(book / f"{stem}.ipynb" for stem in known)]:
            self.env.note_dependency(str(file))
        try:
            return [
                self.section(lesson, known[lesson["chapter"]], book)
                for lesson in lessons(book)
                if lesson["chapter"] in known
            ]
        except (KeyError, ValueError) as error:
            raise self.error(f"{TABLE}: {error}") from error

    def section(self, lesson: dict, chapter: Chapter, book: Path) -> nodes.section:
        name = f"teaching-{chapter.number:02d}"
        block = nodes.section(ids=[name], names=[name])
        block += nodes.title("", f"{chapter.number}. {chapter.title}")
        titles = headings(book / f"{chapter.stem}.ipynb")
        text = lesson_text(lesson, chapter, titles, misconceptions(book))
        self.state.nested_parse(
            StringList(text.splitlines(), source=str(book / TABLE)), self.content_offset, block
        )
        return block
