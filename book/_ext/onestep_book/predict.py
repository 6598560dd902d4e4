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

from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

STATIC = Path(__file__).parent / "static"
FEWEST, MOST = 2, 4  # answers
FORM = f"give {FEWEST} to {MOST} answers '- [ ] ...', one of them '- [x] ...', each with its reason below it"


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
        self.assert_has_content()
        number = self.options.get("answer")
        question = Question("", number=number, tolerance=self.options.get("tolerance", 0.0))
        self.set_source_info(question)
        self.add_name(question)
        if not question["ids"]:
            question["ids"].append(f"question-{self.env.new_serialno('question')}")
        asked, messages = self.state.inline_text(self.arguments[0], self.lineno)
        question += Legend("", "", nodes.strong("", self.heading), nodes.Text(" "), *asked, *messages)
        body = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, body)
        if number is not None:
            question += Reasons("", reason("Answer", [nodes.Text(f"{number:g}")], body.children))
            return [question]
        try:
            question += choices(body.children)
        except ValueError as error:
            raise self.error(f"{self.name}: {error}") from error
        return [question]


def choices(body: list[nodes.Node]) -> list[nodes.Node]:
    """What a question with choices shows, from a body that ends in a list of tasks, the right one checked."""
    *more, answers = body
    items = answers.children if isinstance(answers, nodes.bullet_list) else []
    whole = [item for item in items if "task-list-item" in item["classes"] and len(item) > 1]
    right = ["checked=" in item[0].astext() for item in whole]
    if not FEWEST <= len(whole) == len(items) <= MOST or right.count(True) != 1:
        raise ValueError(FORM)
    parts, reasons = [], Reasons()
    for ((_, space, *answer), *why), is_right in zip(whole, right, strict=True):
        answer.insert(0, nodes.Text(space.lstrip()))  # behind the box
        parts.append(Choice("", "", *answer))
        again = [node.deepcopy() for node in answer]
        reasons += reason("Right" if is_right else "Wrong", again, why)
    return [*more, *parts, reasons]


def reason(word: str, answer: list[nodes.Node], why: list[nodes.Node]) -> Reason:
    """Whether an answer is right, the answer once more, and why."""
    head = nodes.strong("", f"{word}:", classes=["os-verdict"])
    again = nodes.inline("", "", *answer, classes=["os-again"])
    line = nodes.paragraph("", "", head, nodes.Text(" "), again)
    return Reason("", line, *why, right=word != "Wrong")


class SelfCheck(Predict):
    heading = "Check yourself"


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
