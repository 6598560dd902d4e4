"""Slides of each chapter, made from its page: `slides/NN-name.html`.

The question and what the reader is asked, each figure and each numbered equation under the sentences that
lead to it, or else those that follow, and the summary. Words end where a sentence does, at `WORDS` at most.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
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
    """Of each slide the heading, words and the picture."""
    for section in doctree.findall(nodes.section):
        if not isinstance(section[0], nodes.title) or "check-yourself" in section["ids"]:
            continue
        said = [node for node in section[1:] if sentences(node) or pictures([node])]
        # Equations between two sentences stand together.
        parts = [list(part) for _, part in groupby(said, lambda node: is_equation(node) or id(node))]
        told = [sentences(part[0]) for part in parts]
        answer = [words for words, part in zip(told, parts, strict=True) if "os-answer" in part[0]["classes"]]
        heading = copied(section[0].children)
        if "summary" in section["ids"]:
            yield [heading, copied(chain(*shortened(told[0]))), copied([])]
            return  # what follows is for the reader alone
        for k, part in enumerate(parts):
            if shown := pictures(part):
                before = shortened(told[k - 1][::-1])[::-1] if k else []
                if "os-answer" in part[0]["classes"]:
                    before = shortened(next(filter(None, answer)))
                words = before or next((w for w in map(shortened, told[k + 1 :]) if w), [])
                yield [heading, copied(chain(*words)), copied(shown, nodes.container)]


def is_equation(node: nodes.Node) -> bool:
    return isinstance(node, nodes.math_block) and node.get("number") is not None


def pictures(part: list[nodes.Node]) -> list[nodes.Node]:
    """A question, equations, or what a cell draws."""
    if isinstance(part[0], Question) or is_equation(part[0]):
        return part
    cell = part[0] if part[0].get("nb_element") == "cell_code" else nodes.container()
    explorers = [node for node in cell.findall(nodes.raw) if 'class="onestep-explorer"' in node.astext()]
    return list(cell.findall(nodes.figure)) or explorers


def sentences(paragraph: nodes.Node) -> list[Sentence]:
    """The parts of a paragraph, by sentences; of anything else none."""
    found: list[Sentence] = [[]]
    for part in paragraph if isinstance(paragraph, nodes.paragraph) else ():
        first, *others = re.split(r"(?<=[.!?])\s+", part) if isinstance(part, nodes.Text) else [part]
        found[-1].append(first)
        found += [[f" {other}"] for other in others]
    made = ([nodes.Text(x) if isinstance(x, str) else x for x in sentence] for sentence in found)
    return [sentence for sentence in made if "".join(x.astext() for x in sentence).strip()]


def shortened(found: list[Sentence]) -> list[Sentence]:
    """As many sentences as have so many words together."""
    while found and count(found) > WORDS:
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
