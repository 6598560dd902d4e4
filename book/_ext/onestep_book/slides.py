"""Slides of each chapter, made from its page: `slides/NN-name.html`.

The question and what the reader is asked, each figure with the sentences that name it or stand around it,
numbered equations between those around them, and the summary. Words end where a sentence does, at `WORDS` at
most.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .predict import Question

WORDS = 40
CHAPTER = re.compile(r"book/(\d\d-[\w-]+)")
Sentence = list[nodes.Node]


def connect(app: Sphinx) -> None:
    app.config.templates_path.append(str(Path(__file__).parent / "templates"))
    app.connect("html-page-context", write_slides)


def write_slides(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    found = CHAPTER.fullmatch(page)
    if found and doctree is not None:
        html = [[app.builder.render_partial(x)["fragment"] for x in slide] for slide in slides(doctree)]
        files = {name: list(context[name]) for name in ("css_files", "script_files")}
        own = {"slides": html, "title": context["title"], "css_files": files["css_files"]}
        app.builder.handle_page(f"slides/{found[1]}", own, "slides.html")
        context.update(files)  # a page written within another takes away what was added for that one


def slides(doctree: nodes.document) -> Iterator[list[nodes.Node]]:
    """Of each slide the heading, words, the picture, and words below it."""
    for section in doctree.findall(nodes.section):
        if not isinstance(section[0], nodes.title) or "check-yourself" in section["ids"]:
            continue
        said = [node for node in section if not isinstance(node, nodes.target)]
        before: list[Sentence] = []
        below: list[Sentence] = []
        for k, node in enumerate(said):
            if told := sentences(node):
                before, below = told[len(below) :] or told[-1:], []
            shown = [] if is_equation(said[k - 1]) and is_equation(node) else pictures(said[k:])
            summary = "summary" in section["ids"] and before
            if not shown and not summary:
                continue
            opens = summary or isinstance(node, Question) or "os-answer" in node["classes"]
            above = shortened(before if opens else named(said, shown))
            if not above:
                after = next((x for x in said[k + 1 :] if not is_equation(x)), None)
                whole = [x for x in sentences(after) if x[-1].astext().endswith(".")]
                below = shortened(whole, WORDS - count(before[-1:]))
                above = shortened(before[::-1], WORDS - count(below))[::-1]
            yield [
                copied(section[0].children),
                copied(chain(*above)),
                copied(shown, nodes.container),
                copied(chain(*below)),
            ]
            before = []
            if summary:
                return  # what follows is for the reader alone


def is_equation(node: nodes.Node) -> bool:
    return isinstance(node, nodes.math_block) and node.get("number") is not None


def pictures(said: list[nodes.Node]) -> list[nodes.Node]:
    """A question, what a cell draws, or the equations up to the next words, if `said` begins with it."""
    if isinstance(said[0], Question):
        return said[:1]
    if said[0].get("nb_element") != "cell_code":
        return list(takewhile(is_equation, said))
    explorers = [x for x in said[0].findall(nodes.raw) if 'class="onestep-explorer"' in x.astext()]
    return list(said[0].findall(nodes.figure)) or explorers


def named(said: Iterable[nodes.Node], shown: list[nodes.Node]) -> list[Sentence]:
    """The sentences from the first that names a figure."""
    ids = [name for picture in shown if isinstance(picture, nodes.figure) for name in picture["ids"]]
    for found in map(sentences, said):
        for k, sentence in enumerate(found):
            links = (link for part in sentence for link in part.findall(nodes.reference))
            if any(link.get("refid", link.get("refuri", "").lstrip("#")) in ids for link in links):
                return found[k:]
    return []


def sentences(paragraph: nodes.Node | None) -> list[Sentence]:
    """The parts of a paragraph, by sentences; of anything else none."""
    found: list[Sentence] = [[]]
    for part in paragraph if isinstance(paragraph, nodes.paragraph) else ():
        first, *others = re.split(r"(?<=[.!?])\s+", part) if isinstance(part, nodes.Text) else [part]
        found[-1].append(first)
        found += [[f" {other}"] for other in others]
    made = ([nodes.Text(x) if isinstance(x, str) else x for x in sentence] for sentence in found)
    return [sentence for sentence in made if "".join(x.astext() for x in sentence).strip()]


def shortened(found: list[Sentence], most: int = WORDS) -> list[Sentence]:
    """As many sentences as have so many words together."""
    while found and count(found) > most:
        found = found[:-1]
    return found


def count(found: list[Sentence]) -> int:
    """Words; a formula is one."""
    parts = (
        "x" if isinstance(part, nodes.math) else part.astext() for sentence in found for part in sentence
    )
    return len(re.findall(r"\w[\w'’-]*", " ".join(parts)))


def copied(parts: Iterable[nodes.Node], kind: type[nodes.Element] = nodes.inline) -> nodes.Element:
    """A copy without links and captions: on a slide there is nothing to follow."""
    made = kind()
    made += [part.deepcopy() for part in parts]
    for link in list(made.findall(nodes.reference)):
        link.parent.replace(link, link.children)
    for caption in list(made.findall(nodes.caption)):
        caption.parent.remove(caption)
    return made
