"""A chapter's notebook as a row of parts in reading order: headings, prose, equations, questions, code.

What stands in a self-check, a solution or behind a click (hints, reasons) is marked as folded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

EXTENSIONS = ["amsmath", "colon_fence", "deflist", "dollarmath", "smartquotes", "tasklist"]
DIRECTIVE = re.compile(r"\{([\w:.-]+)\}\s*(.*)", re.DOTALL)
OPTION = re.compile(r":([\w-]+):\s*(.*)")
# Their bodies are read as text of the page; all others are boxes, formulas or code.
TEXTS = {"admonition", "note", "tip", "important", "warning", "seealso", "exercise", "theorem", "proof",
         "lemma", "proposition", "definition", "remark", "epigraph", "glossary"}  # fmt: skip
FOLDED = {"dropdown", "solution"}
QUESTIONS = {"predict", "selfcheck"}
HIDDEN = {"hide-input", "hide-cell", "remove-cell"}


@dataclass
class Part:
    """One part: its kind, its text, the section (heading of level 2) and whether it is folded away.

    Kinds: heading, prose, equation, table, directive, code. `name` is the directive's name or the
    heading's level, `body` a directive's lines, `cell` the notebook cell of a code part, `label` that of an
    equation; `roles` and `formulas` are those in the text, also in a table's.
    """

    kind: str
    text: str = ""
    name: str = ""
    body: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)
    cell: dict = field(default_factory=dict)
    section: str = ""
    folded: bool = False
    exercise: str = ""
    solution: str = ""
    label: str = ""
    roles: list[tuple[str, str]] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)

    @property
    def tags(self) -> set[str]:
        return set(self.cell.get("metadata", {}).get("tags", []))

    @property
    def mystnb(self) -> dict:
        return self.cell.get("metadata", {}).get("mystnb", {})

    @property
    def visible_code(self) -> bool:
        return self.kind == "code" and not self.tags & HIDDEN

    @property
    def is_figure(self) -> bool:
        return self.kind == "code" and "figure" in self.mystnb and "remove-cell" not in self.tags

    @property
    def is_look(self) -> bool:
        """True for what one looks at: figure, drawing, explorer, table."""
        shown = self.kind == "code" and not self.tags & {
            "remove-cell",
            "remove-output",
            "hide-output",
            "hide-cell",
        }
        drawn = bool(self.mystnb) or re.search(r"\b(?:\w+_e|E)xplorer\(|\blab\(|\bpicture\(", self.text)
        return not self.folded and (self.kind == "table" or bool(shown and drawn))

    @property
    def words(self) -> int:
        """Words of prose; a formula in the text counts as one."""
        return len(self.text.split()) if self.kind in ("prose", "heading") and not self.folded else 0


@cache
def parser() -> MarkdownIt:
    return create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML)


def inline_text(token: Token) -> str:
    """Text of an inline token: a formula as one word, a role as what it names."""
    pieces = []
    for child in token.children or []:
        if child.type == "math_inline":
            pieces.append("$" + re.sub(r"\s+", "", child.content) + "$")
        elif child.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif child.type == "myst_role":
            pieces.append(re.sub(r"\s*<[^>]*>$", "", child.content).replace(",", " "))
        else:
            pieces.append(child.content)
    return "".join(pieces)


def named(part: Part, token: Token) -> Part:
    """A part with the roles and formulas of an inline token."""
    for child in token.children or []:
        if child.type == "myst_role":
            part.roles.append((child.meta["name"], child.content))
        elif child.type == "math_inline":
            part.formulas.append(child.content)
    return part


def split_options(body: str) -> tuple[dict[str, str], list[str]]:
    """Options at the head of a directive's body, and the rest."""
    lines, options = body.splitlines(), {}
    while lines and (found := OPTION.fullmatch(lines[0])):
        options[found[1]] = found[2].strip()
        lines.pop(0)
    return options, lines


def markdown_parts(text: str) -> Iterator[Part]:
    """Parts of a Markdown text; directives with text are followed by the parts of their bodies."""
    tokens, table, rows = parser().parse(text), False, Part("table")
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type in ("table_open", "table_close"):
            table = token.type == "table_open"
            if table:
                rows = Part("table")
            else:
                yield rows
        elif token.type == "inline" and table:
            named(rows, token)
        elif token.type == "inline":
            heading = before is not None and before.type == "heading_open"
            part = Part("heading" if heading else "prose", inline_text(token), before.tag if heading else "")
            yield named(part, token)
        elif token.type.startswith(("math_block", "amsmath")):
            yield Part("equation", token.content, label=token.info, formulas=[token.content])
        elif token.type in ("fence", "colon_fence"):
            yield from directive_parts(token)


def directive_parts(token: Token) -> Iterator[Part]:
    found = DIRECTIVE.fullmatch(token.info.strip())
    if found is None:
        return
    name, argument = found[1], found[2].strip()
    options, body = split_options(token.content)
    if name == "math":
        yield Part("equation", "\n".join(body), label=options.get("label", ""), formulas=["\n".join(body)])
        return
    if name in ("table", "list-table", "csv-table"):
        yield Part("table", argument)
        return
    yield Part("directive", argument, name, body, options)
    folded = name in FOLDED or "dropdown" in options.get("class", "").split()
    if name in QUESTIONS:
        marks = [k for k, line in enumerate(body) if re.match(r"[-*] \[", line)] or [len(body)]
        first = " ".join([argument, *body[: marks[0]]])
        answers = [line[5:] for line in body if re.match(r"[-*] \[", line)]
        for line in [first, *answers]:
            asked = markdown_parts(line)
            # A self-check is an exercise: its words are not those of the chapter.
            yield from fold(asked) if name == "selfcheck" else asked
        yield from fold(markdown_parts("\n".join(line.strip() for line in body if line.startswith("  "))))
    elif folded:
        yield from fold(markdown_parts("\n".join(body)))
    elif name in TEXTS:
        yield from markdown_parts("\n".join(body))


def fold(parts: Iterator[Part]) -> Iterator[Part]:
    for part in parts:
        part.folded = True
        yield part


def source(cell: dict) -> str:
    return "".join(cell["source"])


def parts(notebook: dict) -> list[Part]:
    """All parts of a notebook, each with its section, exercise and solution."""
    found: list[Part] = []
    section = exercise = solution = ""
    for cell in notebook["cells"]:
        made = [Part("code", source(cell), cell=cell)] if cell["cell_type"] == "code" else None
        for part in made or markdown_parts(source(cell)):
            if part.kind == "heading" and part.name == "h2":
                section = part.text
            if part.kind == "directive" and part.name == "exercise-start":
                exercise = part.options.get("label", "?")
            if part.kind == "directive" and part.name in ("solution-start", "solution"):
                solution = part.text or "?"
            part.section, part.exercise, part.solution = section, exercise, solution
            part.folded = part.folded or bool(solution)
            found.append(part)
            if part.kind == "directive" and part.name == "exercise-end":
                exercise = ""
            if part.kind == "directive" and part.name in ("solution-end", "solution"):
                solution = ""
    return found


def headings(notebook: dict, level: str) -> list[str]:
    return [p.text for p in parts(notebook) if p.kind == "heading" and p.name == level]


def slug(title: str) -> str:
    """The anchor of a heading, as GitHub and this book make it."""
    return re.sub(r"[^\w\- ]", "", title.lower().strip()).replace(" ", "-")
