"""The paper companion: what a source says, line by line, with its place here, its function and its test.

    ```{companion} talk
    ```

draws one part of `book/companion.yml`. A place is a label (an equation, figure, section or exercise) or the
stem of a page; a function is a name of the library; a test is `file::function`. The roles that a row becomes
are Sphinx's own, so that a place or a function that is gone is a warning, which stops the build; a test that
is gone is an error of the directive.
"""

import re
from pathlib import Path

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

TABLE = "companion.yml"
FIELDS = {"said", "place", "function", "test", "note"}
# What a label begins with says which role refers to it.
ROLES = {"eq-": "{{eq}}`{}`", "fig-": "{{numref}}`{}`", "sec-": "{{ref}}`{}`", "ex-": "{{numref}}`{}`"}


def connect(app: Sphinx) -> None:
    app.add_directive("companion", Companion)


def parts(book: Path) -> dict[str, list[dict]]:
    """The rows of every source, in the order of the table."""
    return yaml.safe_load((book / TABLE).read_text("utf-8"))


def text_of(row: dict, source: Path) -> str:
    """One row as Markdown: what is said, and below it where it is, the function, the test and the note.

    >>> from pathlib import Path
    >>> print(text_of({"said": "Data.", "place": ["eq-rf-split", "glossary"]}, Path()))
    Data.
    : {eq}`eq-rf-split` · {doc}`glossary`
    <BLANKLINE>
    """
    unknown = set(row) - FIELDS
    if unknown or "said" not in row or not (row.get("place") or row.get("note")):
        raise ValueError(
            f"a row needs `said`, a `place` or a `note`, and no other field than {sorted(FIELDS)}: {row}"
        )
    where = [place_of(place) for place in row.get("place", ())]
    where += [f"{{py:obj}}`~onestep_lib.{name}`" for name in row.get("function", ())]
    where += [f"`{test}`" for test in row.get("test", ()) if require_test(test, source)]
    lines = [" · ".join(where)] if where else []
    lines += [row["note"].strip()] if "note" in row else []
    said = " ".join(row["said"].split())
    marks = [": ", *["  "] * (len(lines) - 1)]
    return said + "\n" + "\n\n".join(mark + line for mark, line in zip(marks, lines, strict=True)) + "\n"


def place_of(place: str) -> str:
    """The role that refers to a place.

    >>> place_of("eq-ge-pair"), place_of("01-the-question")
    ('{eq}`eq-ge-pair`', '{doc}`01-the-question`')
    """
    role = next((role for start, role in ROLES.items() if place.startswith(start)), "{{doc}}`{}`")
    return role.format(place)


def require_test(test: str, root: Path) -> bool:
    """True if the test is there, or raise."""
    name, _, function = test.partition("::")
    path = root / "tests" / name
    if not path.exists() or not re.search(rf"^def {re.escape(function)}\(", path.read_text("utf-8"), re.M):
        raise ValueError(f"the companion names a test that is not there: {test}")
    return True


class Companion(SphinxDirective):
    """The rows of one source."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        book = Path(self.env.srcdir) / "book"
        self.env.note_dependency(str(book / TABLE))
        try:
            rows = parts(book)[self.arguments[0]]
            text = "\n".join(text_of(row, book.parent) for row in rows)
        except (KeyError, ValueError) as error:
            raise self.error(f"companion {self.arguments[0]}: {error}") from error
        block = nodes.container(classes=["onestep-companion"])
        lines = StringList(text.splitlines(), source=str(book / TABLE))
        self.state.nested_parse(lines, self.content_offset, block)
        return [block]
