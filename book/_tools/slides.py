"""Slides of the chapters, from the chapters themselves.

    python -m book._tools.slides [stem ...]

A chapter's notebook (book/notebooks/, plain Markdown with resolved references) is run with pictures as SVG
and cut into slides, one or more for each heading. They show formulas, tables, pictures, questions, and of a
paragraph its words in bold and one sentence; the whole paragraph is in the speaker's notes (key S).
Exercises and references stay on the page.

`_build/slides` needs no network: reveal.js comes from the wheel of sphinx-revealjs, MathJax from the one that
the site uses.
"""

import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from importlib.metadata import distribution
from pathlib import Path

import nbformat
from joblib import Parallel, cpu_count, delayed
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbclient import NotebookClient
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "book" / "notebooks"
OUT = ROOT / "_build" / "slides"
IMPORTS = re.compile(r"\s*(import|from) [^\n]*(\n(import|from|    |\)|$)[^\n]*)*")
TEMPLATE = Path(__file__).with_name("slides.html")
SVG = "%config InlineBackend.figure_formats = ['svg']"
LEFT_OUT = {"Exercises", "References"}
# Paragraphs that a slide shows whole.
ANSWER = "**The answer.**"
WHOLE = ("**The question.**", ANSWER, "**Predict**")
# What a slide holds beside its heading, in lines of text; a formula, a table and a picture take more.
ROOM, FORMULA, TABLE, PICTURE = 14, 4, 7, 10
ASSETS = {
    "sphinx-revealjs": ("_static/revealjs/", ("dist/reveal.js", "dist/reveal.css", "dist/reset.css",
        "dist/theme/white.css", "dist/theme/fonts/source-sans-pro/source-sans-pro.css",
        "plugin/notes/notes.js", "plugin/notes/speaker-view.html")),
    "sphinx-mathjax-offline": ("/static/mathjax/", ("tex-svg.js", "input/tex/extensions/")),
}  # fmt: skip


@dataclass
class Slide:
    """A heading, what is shown below it as HTML, and the speaker's notes."""

    heading: str
    level: int
    shown: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    used: int = 0


def markdown() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, renderer=formula)


def formula(content: str, options: dict) -> str:
    """LaTeX as MathJax finds it."""
    left, right = ("\\[", "\\]") if options["display_mode"] else ("\\(", "\\)")
    return f"{left}{escape(content.strip())}{right}"


def gist(paragraph: str) -> str:
    """The words in bold that a paragraph begins with, or its first sentence; formulas are not cut.

    >>> gist("**A wall.** It holds for all.")
    '**A wall.** It holds for all.'
    >>> gist("It grows, by $1.5$ at a time (so to say). Then it falls.")
    'It grows, by $1.5$ at a time (so to say).'
    """
    words = " ".join(paragraph.split())
    bold = re.match(r"\*\*[^*]+\*\*\s*", words)
    start = bold.end() if bold else 0
    held = re.sub(r"\$[^$]*\$|`[^`]*`|\[[^\]]*\]\([^)]*\)", lambda found: "X" * len(found[0]), words)
    end = re.search(r"[.?!](?=$|\s+[^a-z\d])", held[start:])
    return words[: start + end.end()] if end else words


def cut(notebook: nbformat.NotebookNode) -> list[Slide]:
    """The slides of an executed notebook."""
    slides: list[Slide] = []
    left_out = False
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if slides and not left_out:
                add_code(slides, cell)
            continue
        for block in blocks(cell.source):
            heading = re.fullmatch(r"(#{1,3}) (.+)", block)
            if heading:
                level, title = len(heading[1]), heading[2]
                left_out = title in LEFT_OUT if level < 3 else left_out
                if not left_out:
                    slides.append(Slide(title, level))
            elif slides and not left_out:
                add_block(slides, block)
    return [slide for slide in slides if slide.shown or slide.level < 3]


def blocks(source: str) -> Iterator[str]:
    """Paragraphs, lists, tables, formulas and folded parts of a cell, each as a whole."""
    held: list[str] = []
    fence = ""
    for line in [*source.splitlines(), ""]:
        if not fence and not line.strip():
            if held:
                yield "\n".join(held)
            held = []
            continue
        held.append(line)
        if fence:
            fence = "" if line.strip() == fence else fence
        elif line.strip() == "$$":
            fence = "$$"
        elif line.startswith("<details"):
            fence = "</details>"
        elif line.startswith("#") and len(held) == 1:
            yield held.pop()
    if held:
        yield "\n".join(held)


def add_block(slides: list[Slide], block: str) -> None:
    """Put a block on the last slide, or on a new one of the same heading where it is full."""
    if block.startswith("<details"):
        slides[-1].notes.append(markdown().render(re.sub(r"</?(details|summary)>", "", block)))
        return
    if block.startswith("**Ten minutes:**"):
        return
    caption = re.match(r"\*\*(Fig\.|Table) [\d.]+\*\*", block)
    if caption:
        slides[-1].shown.append(f'<p class="caption">{markdown().renderInline(gist(block))}</p>')
        slides[-1].notes.append(markdown().render(block))
        return
    if block.startswith("$$"):
        add(slides, markdown().render(block), FORMULA)
    elif block.startswith("|"):
        add(slides, markdown().render(block), TABLE)
    elif block.startswith(("- ", "* ", "1. ")):
        add(slides, markdown().render(block), block.count("\n") + 1)
    else:
        short = block if block.startswith(WHOLE) else gist(block)
        if block.startswith(ANSWER):
            slides.append(Slide(slides[-1].heading, slides[-1].level))
        add(slides, markdown().render(short), 1 + len(short) // 75)
        slides[-1].notes.append(markdown().render(block))


def add(slides: list[Slide], shown: str, size: int) -> None:
    last = slides[-1]
    if last.shown and last.used + size > ROOM:
        last = Slide(last.heading, last.level)
        slides.append(last)
    last.shown.append(shown)
    last.used += size


def add_code(slides: list[Slide], cell: nbformat.NotebookNode) -> None:
    """A picture, an explorer's still picture, or visible code and what it prints."""
    visible = not cell.metadata.get("jupyter", {}).get("source_hidden")
    shown, lines = "", 0
    if visible and not IMPORTS.fullmatch(cell.source):
        shown, lines = f"<pre><code>{escape(cell.source.strip())}</code></pre>", 2 + cell.source.count("\n")
    for output in cell.outputs:
        svg = output.get("data", {}).get("image/svg+xml")
        if svg:
            add(slides, f'<div class="picture">{own_ids(svg, len(slides))}</div>', PICTURE)
        elif visible and output.output_type == "stream" and output.name == "stdout":
            shown += f"<pre>{escape(output.text.strip())}</pre>"
            lines += 1 + output.text.count("\n")
    if shown:
        add(slides, shown, lines)


def own_ids(svg: str, number: int) -> str:
    """A picture's names made its own: those of two pictures in one page would meet."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r'\bid="([^"]+)"', rf'id="s{number}-\1"', body)
    return re.sub(r'(url\(|href=")#([^)"]+)', rf"\1#s{number}-\2", body)


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook, executed with pictures as SVG."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(SVG))
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
    ).execute()
    del notebook.cells[0]
    return notebook


def page(title: str, slides: list[Slide]) -> str:
    sections = []
    for slide in slides:
        notes = f'<aside class="notes">{"".join(slide.notes)}</aside>' if slide.notes else ""
        heading = f"<h{slide.level}>{markdown().renderInline(slide.heading)}</h{slide.level}>"
        sections.append(f"<section>\n{heading}\n{''.join(slide.shown)}{notes}</section>")
    text = TEMPLATE.read_text("utf-8")
    return text.replace("{{title}}", escape(title)).replace("{{slides}}", "\n".join(sections))


def copy_assets(out: Path) -> None:
    for wheel, (root, parts) in ASSETS.items():
        for file in distribution(wheel).files or []:
            _, found, part = file.as_posix().partition(root)
            if found and part.startswith(parts):
                target = out / "assets" / part
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.locate(), target)


def make(path: Path, out: Path) -> Path:
    """Run one chapter and write its slides."""
    slides = cut(run(path))
    target = out / f"{path.stem}.html"
    target.write_text(page(slides[0].heading, slides), "utf-8")
    return target


def main(stems: list[str]) -> int:
    found = sorted(p for p in NOTEBOOKS.glob("[0-9][0-9]-*.ipynb") if not p.stem.endswith("-solutions"))
    chosen = [path for path in found if not stems or path.stem in stems]
    if not chosen or len(chosen) < len(stems):
        print(f"Chapters are: {', '.join(path.stem for path in found)}")
        return 2
    OUT.mkdir(parents=True, exist_ok=True)
    copy_assets(OUT)
    runs = Parallel(n_jobs=min(cpu_count(), len(chosen)), return_as="generator_unordered")(
        delayed(make)(path, OUT) for path in chosen
    )
    for _ in tqdm(runs, "slides", len(chosen), file=sys.stdout):
        pass
    print(f"Slides are in {OUT}: open {chosen[0].stem}.html; S shows the notes, ?print-pdf prints.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
