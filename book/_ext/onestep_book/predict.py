"""The directives `predict` and `selfcheck`: a question that the reader answers before the page does.

    :::{predict} What happens to the test loss when the width grows?
    :name: predict-01-loss
    - [ ] It falls at every width.

      Why not, in one or two sentences.
    - [x] It rises, and falls again.

      Why.
    :::

Two to four answers, one of them marked `[x]`, each followed by its reason. What stands before the first
answer belongs to the question. With `:answer: 0.41` and `:tolerance: 0.02` the reader types a number, and the
body is the reason.

On the page this is a fieldset of radio buttons, and a closed `details` with all reasons. predict.js takes the
reasons out of it and shows the one of the answer that was chosen; it needs no kernel and asks no server.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

STATIC = Path(__file__).parent / "static"
ANSWER = re.compile(r"[-*] \[(.)\] +(\S.*)")
FEWEST, MOST = 2, 4


def connect(app: Sphinx) -> None:
    app.add_directive("predict", Predict)
    app.add_directive("selfcheck", SelfCheck)
    for node, visitors in VISITORS.items():
        app.add_node(node, html=visitors)
    app.connect("doctree-resolved", mark_answer)
    app.connect("builder-inited", lambda app: app.config.html_static_path.append(str(STATIC)))
    app.add_css_file("predict.css")
    app.add_js_file("predict.js", loading_method="defer")


def mark_answer(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """What stands between a page's first question and the line before its first section is the answer."""
    question = next(doctree.findall(Question), None)
    if question is None or not isinstance(question.parent.parent, nodes.document):
        return
    after = question.parent.children[question.parent.index(question) + 1 :]
    sections = [k for k, node in enumerate(after) if isinstance(node, nodes.section)]
    for node in after[: max(sections[0] - 1, 0)] if sections else ():
        node["classes"].append("os-answer")
        question["waits"] = True


class Question(nodes.General, nodes.Element):
    """The whole block; `number` and `tolerance` where a number is asked for."""


class Legend(nodes.General, nodes.TextElement):
    """The heading and the question."""


class Choice(nodes.General, nodes.TextElement):
    """One answer with its radio button."""


class Reasons(nodes.General, nodes.Element):
    """All reasons, in the order of the answers."""


class Reason(nodes.General, nodes.Element):
    """One answer again, whether it is right, and why."""


@dataclass(frozen=True)
class Answer:
    """An answer's lines: what is chosen, and the reason; `line` counts within the directive's body."""

    right: bool
    text: str
    reason: list[str]
    line: int


def split_answers(lines: list[str]) -> tuple[list[str], list[Answer]]:
    """The rest of the question, and the answers; ValueError says what is wrong with them."""
    marks = [k for k, line in enumerate(lines) if ANSWER.fullmatch(line)]
    ends = [*marks[1:], len(lines)]
    answers = [one_answer(lines[start:end], start) for start, end in zip(marks, ends, strict=False)]
    if not FEWEST <= len(answers) <= MOST:
        raise ValueError(
            f"{len(answers)} answers: give {FEWEST} to {MOST}, each on a line '- [ ] ...' or '- [x] ...'"
        )
    if sum(answer.right for answer in answers) != 1:
        raise ValueError("mark exactly one answer as right, with '- [x]'")
    return lines[: marks[0]], answers


def one_answer(lines: list[str], line: int) -> Answer:
    mark, first = ANSWER.fullmatch(lines[0]).groups()
    if mark not in " xX":
        raise ValueError(f"'[{mark}]': write '[ ]' or '[x]'")
    end = next((k for k, text in enumerate(lines) if not text.strip()), len(lines))
    reason = [text[2:] if text.startswith("  ") else text.lstrip() for text in lines[end:]]
    text = " ".join([first, *(text.strip() for text in lines[1:end])])
    if not any(text.strip() for text in reason):
        raise ValueError(f"answer '{text}' has no reason: a blank line, then the reason, indented by two")
    return Answer(mark != " ", text, reason, line + end)


class Predict(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = {
        "name": directives.unchanged_required,
        "answer": float,
        "tolerance": float,
    }
    heading = "Predict"

    def run(self) -> list[nodes.Node]:
        question = Question(
            "", number=self.options.get("answer"), tolerance=self.options.get("tolerance", 0.0)
        )
        self.set_source_info(question)
        self.add_name(question)
        if not question["ids"]:
            question["ids"].append(f"question-{self.env.new_serialno('question')}")
        heading = nodes.strong("", self.heading)
        question += Legend("", "", heading, nodes.Text(" "), *self.inline(self.arguments[0]))
        try:
            parts = self.choices() if question["number"] is None else self.reason_of_a_number()
        except ValueError as error:
            raise self.error(f"{self.name}: {error}") from error
        question += parts
        return [question]

    def choices(self) -> list[nodes.Node]:
        more, answers = split_answers(list(self.content))
        parts: list[nodes.Node] = self.blocks(more, 0)
        for answer in answers:
            parts.append(Choice("", "", *self.inline(answer.text)))
        reasons = Reasons()
        for answer in answers:
            again = Reason("", *self.blocks(answer.reason, answer.line), right=answer.right)
            again.insert(0, verdict("Right" if answer.right else "Wrong", self.inline(answer.text)))
            reasons += again
        return [*parts, reasons]

    def reason_of_a_number(self) -> list[nodes.Node]:
        if not any(line.strip() for line in self.content):
            raise ValueError("give the reason as the body")
        reason = Reason("", *self.blocks(list(self.content), 0), right=True)
        reason.insert(0, verdict("Answer", [nodes.Text(f"{self.options['answer']:g}")]))
        return [Reasons("", reason)]

    def inline(self, text: str) -> list[nodes.Node]:
        found, messages = self.state.inline_text(text, self.lineno)
        return [*found, *messages]

    def blocks(self, lines: list[str], line: int) -> list[nodes.Node]:
        holder = nodes.container()
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset + line, holder)
        return list(holder.children)


class SelfCheck(Predict):
    heading = "Check yourself"


def verdict(word: str, answer: list[nodes.Node]) -> nodes.paragraph:
    """The line above a reason: right or wrong, and the answer once more."""
    word = nodes.strong("", f"{word}:", classes=["os-verdict"])
    return nodes.paragraph("", "", word, nodes.Text(" "), nodes.inline("", "", *answer, classes=["os-again"]))


def visit_question(writer: Any, node: Question) -> None:
    data = {"CLASS": "os-predict"}
    if node["number"] is not None:
        data |= {"data-answer": f"{node['number']:g}", "data-tolerance": f"{node['tolerance']:g}"}
    writer.body.append(writer.starttag(node, "fieldset", **data))


def depart_question(writer: Any, node: Question) -> None:
    button = '<button type="button" class="os-reveal">Show the answer</button>' if node.get("waits") else ""
    reply = f'<div class="os-reply" role="status" aria-live="polite">{button}</div>'
    writer.body.append(f"{reply}\n</fieldset>\n")


def visit_choice(writer: Any, node: Choice) -> None:
    name = node.parent["ids"][0]
    writer.body.append(f'<label class="os-choice"><input type="radio" name="{name}"> <span>')


def visit_reason(writer: Any, node: Reason) -> None:
    kind = "right" if node["right"] else "wrong"
    writer.body.append(f'<div class="os-reason os-{kind}">')


def ending(text: str) -> Any:
    return lambda writer, node: writer.body.append(text)


VISITORS = {
    Question: (visit_question, depart_question),
    Legend: (ending("<legend>"), ending("</legend>\n")),
    Choice: (visit_choice, ending("</span></label>\n")),
    Reasons: (
        ending('<details class="os-reasons"><summary>The answer, with reasons</summary>\n'),
        ending("</details>\n"),
    ),
    Reason: (visit_reason, ending("</div>\n")),
}
