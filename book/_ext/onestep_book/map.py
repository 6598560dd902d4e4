"""The map of the book (which chapter needs which, how many minutes) and the reading paths.

    ```{book-map}
    ```
    ```{reading-paths}
    ```

Both are drawn when the site is built: from the notebooks' metadata `onestep`, from `book/map.yml` (chapters
that are planned) and from `book/paths.yml`.
"""

import json
import re
from dataclasses import dataclass
from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROW = 64  # CSS pixels of a chapter's row; the arcs beside the rows are drawn to the same measure
REACH = 15  # pixels that an arc goes out for each row it spans
CHAPTERS = "[0-9][0-9]-*.ipynb"
CALM = 45  # minutes of reading at one sitting; what is longer says so by hours


@dataclass(frozen=True)
class Chapter:
    """A chapter of the map; one without a stem is planned."""

    number: int
    title: str
    stem: str = ""
    short: int = 0  # minutes of its first part and of the whole; 0 where they are not known
    whole: int = 0
    needs: tuple[int, ...] = ()


def connect(app: Sphinx) -> None:
    app.add_directive("book-map", BookMap)
    app.add_directive("reading-paths", ReadingPaths)


def chapters(book: Path) -> list[Chapter]:
    """All chapters in order; one that exists replaces its plan."""
    found = {chapter.number: chapter for chapter in map(written, sorted(book.glob(CHAPTERS)))}
    planned = map(from_plan, yaml.safe_load((book / "map.yml").read_text("utf-8")))
    return sorted(({c.number: c for c in planned} | found).values(), key=lambda chapter: chapter.number)


def number_of(stem: str | int) -> int:
    return stem if isinstance(stem, int) else int(stem[:2])


def from_plan(entry: dict) -> Chapter:
    return Chapter(entry["number"], entry["title"], needs=tuple(map(number_of, entry["needs"])))


def written(path: Path) -> Chapter:
    """A chapter from its notebook: the title above its colon, minutes and needs from its metadata."""
    notebook = json.loads(path.read_text("utf-8"))
    text = "".join(notebook["cells"][0]["source"])
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    if heading is None:
        raise ValueError(f"{path.name} must begin with a heading of level 1, got {text[:60]!r}")
    said = notebook["metadata"].get("onestep", {})
    minutes = said.get("minutes", {})
    return Chapter(
        number_of(path.stem),
        heading[1].partition(":")[0].replace("`", ""),
        path.stem,
        minutes.get("short", 0),
        minutes.get("whole", 0),
        tuple(map(number_of, said.get("needs", ()))),
    )


def paths(book: Path) -> list[dict]:
    return yaml.safe_load((book / "paths.yml").read_text("utf-8"))


def minutes_of(path: dict, known: dict[str, Chapter]) -> int:
    """Minutes of a path's chapters where all are known, and else its budget."""
    stems = [stem for stem in path["pages"] if stem in known or stem[:2].isdigit()]
    if not all(stem in known and known[stem].whole for stem in stems):
        return path["minutes"]
    short = path.get("short", ())
    return sum(known[stem].short if stem in short else known[stem].whole for stem in stems)


def length(minutes: int) -> str:
    """Minutes as a reader says them.

    >>> length(15), length(55), length(190)
    ('15 min', '55 min', '3 h 10 min')
    """
    if minutes < 2 * CALM:
        return f"{minutes} min"
    hours, rest = divmod(5 * round(minutes / 5), 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def map_html(all_chapters: list[Chapter]) -> str:
    rows = "".join(map(row_html, all_chapters))
    return f'<div class="onestep-map" style="--row:{ROW}px">{arcs_svg(all_chapters)}<ol>{rows}</ol></div>'


def row_html(chapter: Chapter) -> str:
    title = escape(chapter.title)
    if chapter.stem:
        title = f'<a href="{chapter.stem}.html">{title}</a>'
    notes = [f"{chapter.short} min, or {chapter.whole} with the derivation"] if chapter.whole else []
    notes += [] if chapter.stem else ["planned"]
    notes += [f"needs {words(chapter.needs)}"] if chapter.needs else []
    return (
        f'<li{kind(chapter.stem)}><span class="number">{chapter.number}</span> <span>{title}'
        f"<small>{'; '.join(notes)}</small></span></li>"
    )


def kind(stem: str) -> str:
    """Attribute of what belongs to a planned chapter."""
    return "" if stem else ' class="planned"'


def words(numbers: tuple[int, ...]) -> str:
    """1, 2 and 3."""
    texts = [str(number) for number in sorted(numbers)]
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def arcs_svg(all_chapters: list[Chapter]) -> str:
    """Arcs from a needed chapter down to the one that needs it; the rows say the same in words."""
    places = {chapter.number: ROW * (k + 0.5) for k, chapter in enumerate(all_chapters)}
    pairs = [
        (places[need], places[chapter.number], chapter.stem)
        for chapter in all_chapters
        for need in chapter.needs
        if need in places
    ]
    width = 20 + REACH * max((round((end - start) / ROW) for start, end, _ in pairs), default=1)
    edge = width - 8
    arcs = "".join(
        f'<path{kind(stem)} d="M{edge} {start:g}C{bend(start, end, edge):g} {start:g} '
        f'{bend(start, end, edge):g} {end:g} {edge} {end:g}"/>'
        for start, end, stem in pairs
    )
    dots = "".join(
        f'<circle{kind(chapter.stem)} cx="{edge}" cy="{places[chapter.number]:g}" r="5"/>'
        for chapter in all_chapters
    )
    height = ROW * len(all_chapters)
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" aria-hidden="true">'
        f"{arcs}{dots}</svg>"
    )


def bend(start: float, end: float, edge: float) -> float:
    """Where the two handles of an arc stand: the arc's middle is three quarters of the way there."""
    return edge - 4 / 3 * REACH * round((end - start) / ROW)


def paths_html(all_paths: list[dict], all_chapters: list[Chapter]) -> str:
    known = {chapter.stem: chapter for chapter in all_chapters if chapter.stem}
    numbers = {chapter.number: chapter for chapter in all_chapters}
    cards = "".join(card_html(path, known, numbers) for path in all_paths)
    return f'<div class="onestep-paths">{cards}</div>'


def card_html(path: dict, known: dict[str, Chapter], numbers: dict[int, Chapter]) -> str:
    stems = [stem for stem in path["pages"] if stem[:2].isdigit()]
    if sessions := path.get("sessions"):
        items = [", ".join(step(stem, path, known, numbers) for stem in session) for session in sessions]
    else:
        items = [step(stem, path, known, numbers) for stem in stems]
    listed = "Sessions" if sessions else "Chapters"
    rows = "".join(f"<li>{item}</li>" for item in items)
    return (
        f"<div><p><strong>{escape(path['name'])}</strong> ({length(minutes_of(path, known))}): "
        f'{escape(path["for"])}.</p><ol aria-label="{listed} of this path">{rows}</ol></div>'
    )


def step(stem: str, path: dict, known: dict[str, Chapter], numbers: dict[int, Chapter]) -> str:
    planned = numbers.get(number_of(stem))
    title = escape(known[stem].title if stem in known else planned.title if planned else stem)
    first = " (its first ten minutes)" if stem in path.get("short", ()) else ""
    if stem not in known:
        return f"{title} (planned)"
    return f'<a href="{stem}.html">{title}</a>{first}'


class FromFiles(SphinxDirective):
    """A piece of HTML from the book's own files; the page is read again when one of them changes."""

    def book(self) -> Path:
        folder = Path(self.env.srcdir) / "book"
        for file in [*folder.glob(CHAPTERS), folder / "map.yml", folder / "paths.yml"]:
            self.env.note_dependency(str(file))
        return folder

    def html(self, text: str) -> list[nodes.Node]:
        return [nodes.raw("", text, format="html")]


class BookMap(FromFiles):
    def run(self) -> list[nodes.Node]:
        return self.html(map_html(chapters(self.book())))


class ReadingPaths(FromFiles):
    def run(self) -> list[nodes.Node]:
        book = self.book()
        return self.html(paths_html(paths(book), chapters(book)))
