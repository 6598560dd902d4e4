"""Slides of each chapter, made from its page: `slides/NN-name.html`.

The question and what the reader is asked, each figure with the sentences that name it or stand around it, each
numbered equation between those around it, and the summary. Words end where a sentence does, at `WORDS` at most.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from .predict import Question

WORDS = 40
CHAPTER = re.compile(r"book/(\d\d-[\w-]+)")
Sentence = list[nodes.Node]


def connect(app: Sphinx) -> None:
    app.connect("html-page-context", write_slides)


def write_slides(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    found = CHAPTER.fullmatch(page)
    if found and doctree is not None:
        html = [[app.builder.render_partial(x)["fragment"] for x in slide] for slide in slides(doctree)]
        own = {"slides": html, "title": context["title"], "css_files": context["css_files"]}
        app.builder.handle_page(f"slides/{found[1]}", own, "slides.html")


def slides(doctree: nodes.document) -> Iterator[list[nodes.Node]]:
    """Of each slide the heading, words, the picture, and words below it."""
    for section in doctree.findall(nodes.section):
        if not isinstance(section[0], nodes.title) or section["ids"] == ["check-yourself"]:
            continue
        said = [node for node in section if not isinstance(node, nodes.target)]
        before: list[Sentence] = []
        for node, following in pairwise([*said, None]):
            before = sentences(node) or before
            for picture in pictures(node):
                opens = isinstance(picture, Question) or "os-answer" in node["classes"]
                figure = isinstance(picture, nodes.figure)
                above, below = shortened(before if opens else named(said, picture["ids"]) if figure else []), []
                if not above:
                    ends = [x for x in sentences(following) if x[-1].astext().endswith(".")]
                    below = shortened(ends, WORDS - count(before[-1:]))
                    above = shortened(before[::-1], WORDS - count(below))[::-1]
                yield [copied(x) for x in ([section[0].children], above, [[picture]], below)]
                before = []
            if section["ids"] == ["summary"] and before:
                yield [copied(x) for x in ([section[0].children], shortened(before), [], [])]
                break


def pictures(node: nodes.Node) -> Iterator[nodes.Element]:
    """The question, a numbered equation, or what a cell draws."""
    if isinstance(node, Question) or (isinstance(node, nodes.math_block) and node.get("number")):
        yield node
    elif node.get("nb_element") == "cell_code":
        explorers = [x for x in node.findall(nodes.raw) if 'class="onestep-explorer"' in x.astext()]
        yield from list(node.findall(nodes.figure)) or explorers


def named(said: Iterable[nodes.Node], ids: list[str]) -> list[Sentence]:
    """The sentences from the first that names a figure."""
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
        found += [[other] for other in others]
    whole = ([nodes.Text(x) if isinstance(x, str) else x for x in sentence if x != ""] for sentence in found)
    return [sentence for sentence in whole if sentence]


def shortened(found: list[Sentence], most: int = WORDS) -> list[Sentence]:
    """As many sentences as have so many words together."""
    while found and count(found) > most:
        found = found[:-1]
    return found


def count(found: list[Sentence]) -> int:
    """Words; a formula is one."""
    parts = ("x" if isinstance(part, nodes.math) else part.astext() for sentence in found for part in sentence)
    return len(re.findall(r"\w[\w'’-]*", " ".join(parts)))


def copied(found: list[Sentence]) -> nodes.Element:
    """A copy without links and captions: on a slide there is nothing to follow."""
    made = nodes.container()
    for sentence in found:
        made += [*(part.deepcopy() for part in sentence), nodes.Text(" ")]
    for link in list(made.findall(nodes.reference)):
        link.parent.replace(link, link.children)
    for caption in list(made.findall(nodes.caption)):
        caption.parent.remove(caption)
    return made
