"""The pattern of a chapter, as far as a machine can judge it; each rule a function from a notebook to faults.

A fault is a sentence that says where and what to do. `test_a_rule_sees_its_defect` plants one defect per rule
into a small chapter that keeps them all.
"""

import ast
import copy
import json
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from chapter_parts import QUESTIONS, Part, headings, parts, slug
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))

from onestep_book import predict  # noqa: E402

CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]-*.ipynb"))
SECTIONS = [
    "In words",
    "The smallest simulation",
    "The formula, and how to use it",
    "Derivation",
    "Theory against simulation",
    "Where it breaks",
    "Summary",
    "Exercises",
    "Open question",
    "References",
]
FIRST_SCREEN = ""  # the section before the first heading of level 2
READ_AT_ONCE = {*SECTIONS[:7], FIRST_SCREEN}  # the sections before the exercises
SYMBOLS, EQUATIONS, LINES, COLUMNS, STRETCH = 5, 15, 8, 75, 300
FEWEST_WORDS, MOST_WORDS = 2000, 3000
SHORT, WHOLE, QUESTIONS_ASKED = 10, 60, 10  # minutes of the two speeds; questions that a reader is asked
CASES = 2
EXERCISE = re.compile(r"\*(Check|Derive|Extend) · (\d+) minutes(, [^·*]+)? · builds on [^*]+\.?\*")
# What stands where a line of the derivation is missing.
GAPS = r"one finds|turns? out|it is easy to|clearly|obviously|straightforward|after some algebra"


def metadata_is_complete(notebook: dict) -> list[str]:
    own = notebook["metadata"].get("onestep")
    if not isinstance(own, dict):
        return ["give the notebook's metadata the key `onestep`"]
    faults = [
        f"onestep.{key}: a list of strings"
        for key in ("symbols", "terms", "needs", "questions")
        if not isinstance(own.get(key), list) or not all(isinstance(x, str) and x for x in own[key])
    ]
    minutes = own.get("minutes")
    if not isinstance(minutes, dict) or set(minutes) != {"short", "whole"}:
        return [*faults, 'onestep.minutes: {"short": 10, "whole": 55}']
    if not 0 < minutes["short"] <= SHORT or not minutes["short"] < minutes["whole"] <= WHOLE:
        faults.append(f"onestep.minutes: short at most {SHORT}, whole at most {WHOLE}")
    if isinstance(own.get("questions"), list) and len(own["questions"]) < QUESTIONS_ASKED:
        faults.append(
            f"onestep.questions: {QUESTIONS_ASKED} questions that a reader should be able to answer"
        )
    return faults


def new_symbols_are_few(notebook: dict) -> list[str]:
    symbols = notebook["metadata"].get("onestep", {}).get("symbols", [])
    faults = [f"{len(symbols)} new symbols: at most {SYMBOLS}"] if len(symbols) > SYMBOLS else []
    text = re.sub(r"\s", "", "".join(p.text for p in parts(notebook)))
    return faults + [
        f"symbol {x} is listed as new and not used" for x in symbols if re.sub(r"\s", "", x) not in text
    ]


def length_is_within_bounds(notebook: dict) -> list[str]:
    words = sum(part.words for part in parts(notebook))
    if FEWEST_WORDS <= words <= MOST_WORDS:
        return []
    return [f"{words} words of prose (hints, reasons and solutions apart): {FEWEST_WORDS} to {MOST_WORDS}"]


def equations_are_few(notebook: dict) -> list[str]:
    shown = sum(part.kind == "equation" and not part.folded for part in parts(notebook))
    return [f"{shown} display equations outside solutions: at most {EQUATIONS}"] * (shown > EQUATIONS)


def visible_code_is_short(notebook: dict) -> list[str]:
    faults = []
    for part in (p for p in parts(notebook) if p.visible_code):
        lines = [line for line in part.text.splitlines() if line.strip()]
        if len(lines) > LINES:
            faults.append(f"{len(lines)} lines, at most {LINES}: hide or cut the cell {lines[0]!r}")
        faults += [f"wider than {COLUMNS} characters: {line!r}" for line in lines if len(line) > COLUMNS]
    return faults


def visible_code_formats_nothing(notebook: dict) -> list[str]:
    faults = []
    for part in (p for p in parts(notebook) if p.visible_code):
        code = re.sub(r"^(\s*)[%!].*$", r"\1pass", part.text, flags=re.MULTILINE)
        found = next(filter(formats, ast.walk(ast.parse(code))), None)
        if found is not None:
            faults.append(f"print rounded numbers, no format strings: {ast.unparse(found)}")
    return faults


def formats(node: ast.AST) -> bool:
    called = node.func if isinstance(node, ast.Call) else None
    modulo = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and node.left
    return (
        isinstance(node, ast.JoinedStr)
        or (isinstance(called, ast.Attribute) and called.attr == "format")
        or (isinstance(called, ast.Name) and called.id == "format")
        or (isinstance(modulo, ast.Constant) and isinstance(modulo.value, str))
    )


def first_screen_is_plain(notebook: dict) -> list[str]:
    """One figure; no code, no bar of a hidden cell, no table, no box before `In words`."""
    first = [part for part in parts(notebook) if part.section == FIRST_SCREEN]
    faults = [
        f"tag remove-input (no code, no bar on the first screen): {part.text[:60]!r}"
        for part in first
        if part.kind == "code" and not part.tags & {"remove-input", "remove-cell"}
    ]
    faults += [
        f"move below `## {SECTIONS[0]}`: {part.kind} {part.name} {part.text[:40]}"
        for part in first
        if part.kind in ("table", "equation") or (part.kind == "directive" and part.name not in QUESTIONS)
    ]
    figures = sum(part.is_figure for part in first)
    if figures != 1:
        faults.append(f"{figures} figures on the first screen: show one")
    prose = [part.text for part in first if part.kind == "prose" and not part.folded]
    if not prose or "?" not in prose[0]:
        faults.append("the first paragraph asks the chapter's question")
    if not any(re.search(r"\bThe answer\b", text) for text in prose):
        faults.append("give the answer in one sentence that begins **The answer.**")
    return faults


def sections_stand_in_order(notebook: dict) -> list[str]:
    found = headings(notebook, "h2")
    if found == SECTIONS:
        return []
    faults = [f"missing: ## {title}" for title in SECTIONS if title not in found]
    faults += [f"no section of a chapter: ## {title}" for title in found if title not in SECTIONS]
    faults += [f"twice: ## {title}" for title in set(found) if found.count(title) > 1]
    return faults or [f"order: {' · '.join(found)}"]


def steps_are_numbered_once(notebook: dict) -> list[str]:
    steps = [p for p in parts(notebook) if p.kind == "heading" and re.match(r"Step\b", p.text)]
    found = [f"{p.name} {p.text.partition('. ')[0]}" for p in steps]
    expected = [f"h3 Step {k + 1}" for k in range(len(steps))]
    faults = [] if found == expected and steps else [f"write `### Step 1. ...` and so on; found {found}"]
    return faults + [f"a step outside the derivation: {p.text}" for p in steps if p.section != "Derivation"]


def questions_come_before_their_picture(notebook: dict) -> list[str]:
    row = parts(notebook)
    asked = [k for k, p in enumerate(row) if p.kind == "directive" and p.name == "predict"]
    figures = [k for k, p in enumerate(row) if p.is_figure]
    faults = [] if asked else ["ask at least one question with the directive predict"]
    if asked and figures and asked[0] > figures[0]:
        faults.append(f"the first question stands after the first figure: {row[asked[0]].text[:60]}")
    for k in asked:
        after = [p for p in row[k:] if p.section == row[k].section]
        answered = any(p.is_look or (p.kind == "code" and not p.tags & {"remove-cell"}) for p in after)
        if not answered:
            faults.append(f"nothing in this section answers the question: {row[k].text[:60]}")
    return faults


def questions_are_well_formed(notebook: dict) -> list[str]:
    faults = []
    for part in parts(notebook):
        if part.kind == "directive" and part.name in QUESTIONS and "answer" not in part.options:
            try:
                predict.split_answers(part.body)
            except ValueError as error:
                faults.append(f"{part.text[:60]}: {error}")
    return faults


def something_to_look_at_comes_often(notebook: dict) -> list[str]:
    faults, run, start = [], 0, "the first words"
    for part in parts(notebook):
        if part.section not in READ_AT_ONCE:
            break
        if part.is_look:
            run, start = 0, ""
        run += part.words
        start = start or (part.text[:50] if part.words else "")
        if run > STRETCH >= run - part.words:
            faults.append(
                f"{part.section}: more than {STRETCH} words without figure, explorer or table, from {start!r}"
            )
    return faults


def exercises_are_complete(notebook: dict) -> list[str]:
    row, faults = parts(notebook), []
    steps = len([p for p in row if p.kind == "heading" and p.name == "h3" and p.section == "Derivation"])
    labels = [
        p.options.get("label", "?") for p in row if p.kind == "directive" and p.name == "exercise-start"
    ]
    if any(p.kind == "directive" and p.name == "exercise" for p in row):
        faults.append("use exercise-start and exercise-end: a hint nests in them")
    text = raw(notebook)
    kinds = set()
    for label in labels:
        head = rf"{{exercise-start}}[^\n]*\n(?::.*\n)*?:label: {re.escape(label)}\n(?::.*\n)*`+\n+"
        body = re.search(head, text)
        found = EXERCISE.match(text, body.end()) if body else None
        if found is None:
            faults.append(
                f"{label}: begin with `*Check · 10 minutes · builds on step 3.*` (Check, Derive or Extend)"
            )
        else:
            kinds.add(found[1])
            numbers = [int(n) for n in re.findall(r"\d+", found[0].partition("builds on")[2])]
            if "step" in found[0] and any(not 1 <= n <= steps for n in numbers):
                faults.append(f"{label}: builds on a step that is not there")
        inside = [p for p in row if p.exercise == label and p.kind == "directive"]
        if not any(p.text == "Hint" and is_folded(p) for p in inside):
            faults.append(f"{label}: give a hint, `:::{{dropdown}} Hint`")
        solution = [p for p in row if p.solution == label]
        if not any(p.name.startswith("solution") and is_folded(p) for p in solution):
            faults.append(f"{label}: give a solution of class dropdown")
        elif not any(p.kind == "code" for p in solution):
            faults.append(f"{label}: back the solution by a code cell")
    if labels and kinds != {"Check", "Derive", "Extend"}:
        faults.append("have exercises of each kind: Check, Derive, Extend")
    return faults if labels else [*faults, "no exercises"]


def raw(notebook: dict) -> str:
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    return "\n".join("".join(cell["source"]) for cell in cells)


def is_folded(part: Part) -> bool:
    return part.name in ("dropdown", "solution") or "dropdown" in part.options.get("class", "")


def figures_are_described(notebook: dict) -> list[str]:
    faults = []
    for part in (p for p in parts(notebook) if p.is_figure):
        figure, alt = part.mystnb["figure"], part.mystnb.get("image", {}).get("alt", "")
        name, caption = figure.get("name", ""), figure.get("caption", "")
        if not name.startswith("fig-"):
            faults.append(f"figure {name!r}: mystnb.figure.name starts with fig-")
        if len(caption.split()) < 5:
            faults.append(f"figure {name!r}: mystnb.figure.caption says what is drawn")
        if len(alt.split()) < 8 or alt == caption:
            faults.append(f"figure {name!r}: mystnb.image.alt says what one sees")
    return faults


def prose_about_figures_is_asserted(notebook: dict) -> list[str]:
    """Counted from the end: as many cells of assertions follow as figures."""
    faults, checked = [], 0
    for part in reversed(parts(notebook)):
        if {"remove-cell", "asserts"} <= part.tags and re.search(r"^\s*assert ", part.text, re.MULTILINE):
            checked += 1
        elif part.is_figure and not part.solution:
            if checked == 0:
                name = part.mystnb["figure"].get("name")
                faults.append(
                    f"{name}: assert what is said of it in a later cell tagged remove-cell, asserts"
                )
            checked = max(checked - 1, 0)
        elif "asserts" in part.tags:
            faults.append(f"tag remove-cell and assert something: {part.text[:60]!r}")
    return faults


def checks_print_one_line(notebook: dict) -> list[str]:
    faults, summaries = [], 0
    for part in (p for p in parts(notebook) if p.kind == "code"):
        if "gap_table(" in part.text and not {"hide-output", "remove-input"} <= part.tags:
            faults.append(
                f"tag hide-output and remove-input (a table stands behind a click): {part.text[:60]!r}"
            )
        calls = len(re.findall(r"\bgap_summary\(", part.text))
        summaries += calls
        if calls and "gap_table(" in part.text:
            faults.append(f"the table has a cell of its own: {part.text[:60]!r}")
        lines = "".join("".join(output.get("text", "")) for output in part.cell.get("outputs", []))
        if calls and len(lines.splitlines()) > calls:
            faults.append(f"a check prints one line, its table stands behind a click: {part.text[:60]!r}")
    return faults if summaries else [*faults, "no check with plotting.gap_summary"]


def ten_minutes_lead_somewhere(notebook: dict) -> list[str]:
    line = re.search(r"^\*\*Ten minutes:\*\*(.*(?:\n.+)*)", raw(notebook), re.MULTILINE)
    if line is None:
        return ["end the first screen with `**Ten minutes:** this screen, [in words](#in-words), ...`"]
    links = re.findall(r"\]\(([^)\s]+)\)", line[1])
    anchors = {slug(p.text) for p in parts(notebook) if p.kind == "heading"}
    anchors |= set(re.findall(r"^\(([\w-]+)\)=", raw(notebook), re.MULTILINE))
    faults = [f"{link} leads nowhere" for link in links if link.lstrip("#") not in anchors]
    before = raw(notebook).find(f"## {SECTIONS[0]}")
    if raw(notebook).find("**Ten minutes:**") > before >= 0:
        faults.append(f"the line Ten minutes stands before ## {SECTIONS[0]}")
    return faults if len(links) >= 3 else [*faults, "link in words, the formula and more in Ten minutes"]


def it_breaks_at_most_twice(notebook: dict) -> list[str]:
    cases = [
        p.text
        for p in parts(notebook)
        if p.kind == "heading" and p.name == "h3" and p.section == "Where it breaks"
    ]
    return [f"{len(cases)} cases, at most {CASES}: {cases}"] if len(cases) > CASES else []


def code_appears_with_the_smallest_simulation(notebook: dict) -> list[str]:
    shown = [p for p in parts(notebook) if p.section == SECTIONS[1] and p.visible_code]
    if any("import" in p.text for p in shown):
        return []
    return [f"## {SECTIONS[1]} shows the first code, with what it imports"]


def summary_lists_functions(notebook: dict) -> list[str]:
    text = raw(notebook).partition("## Summary")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("|") and "{func}" in line]
    return [] if rows else ["the summary ends in a table of formulas and functions"]


def no_line_is_skipped(notebook: dict) -> list[str]:
    found = [
        (hit.group(), part.text)
        for part in parts(notebook)
        if part.kind == "prose"
        for hit in re.finditer(rf"\b(?:{GAPS})\b", part.text, re.IGNORECASE)
    ]
    return [f"write the line that {words!r} stands for: {text[:80]}" for words, text in found]


RULES: list[Callable[[dict], list[str]]] = [
    metadata_is_complete,
    new_symbols_are_few,
    length_is_within_bounds,
    equations_are_few,
    visible_code_is_short,
    visible_code_formats_nothing,
    first_screen_is_plain,
    sections_stand_in_order,
    steps_are_numbered_once,
    questions_come_before_their_picture,
    questions_are_well_formed,
    something_to_look_at_comes_often,
    exercises_are_complete,
    figures_are_described,
    prose_about_figures_is_asserted,
    checks_print_one_line,
    ten_minutes_lead_somewhere,
    it_breaks_at_most_twice,
    code_appears_with_the_smallest_simulation,
    summary_lists_functions,
    no_line_is_skipped,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_keeps(path, rule):
    faults = rule(json.loads(path.read_text(encoding="utf-8")))
    assert not faults, "\n".join([f"{path.stem}, {rule.__name__}:", *faults])


def test_needs_name_chapters_before():
    stems = [path.stem for path in CHAPTERS]
    for path in CHAPTERS:
        needs = json.loads(path.read_text("utf-8"))["metadata"].get("onestep", {}).get("needs", [])
        assert set(needs) <= set(stems[: stems.index(path.stem)]), f"{path.stem} needs {needs}"


def test_no_symbol_and_no_term_is_introduced_twice():
    for key in ("symbols", "terms"):
        own = {
            path.stem: json.loads(path.read_text("utf-8"))["metadata"].get("onestep", {}).get(key, [])
            for path in CHAPTERS
        }
        for first, second in pairwise(sorted(own)):
            earlier = {x for stem in own if stem <= first for x in own[stem]}
            assert not earlier & set(own[second]), f"{second}: {key} introduced before"


# A chapter that keeps every rule, and one defect for each.

WORDS = " ".join(["word"] * 220)
FIGURE = {
    "figure": {"name": "fig-a", "caption": "What is drawn, in five words."},
    "image": {"alt": "A line falls from left to right and meets the dots."},
}
FIRST = """\
# Title

**The question.** What happens?

:::{predict} What happens?
- [ ] This

  No.
- [x] That

  Yes.
:::

**The answer.** That."""
FORMULA = "$$\na=b\n$$ (eq-a)\n"
EXERCISES = "".join(
    f"""
```{{exercise-start}}
:label: ex-{kind.lower()}
```
*{kind} · 10 minutes · builds on step 1.* Why?

:::{{dropdown}} Hint
Look.
:::
```{{exercise-end}}
```

````{{solution-start}} ex-{kind.lower()}
:class: dropdown
````
Because.
<code>
````{{solution-end}}
````
"""
    for kind in ("Check", "Derive", "Extend")
)


def code(text: str, *tags: str, mystnb: dict | None = None) -> dict:
    metadata = {"tags": list(tags)} | ({"mystnb": copy.deepcopy(mystnb)} if mystnb else {})
    return new_code_cell(text, metadata=metadata)


def good() -> dict:
    """A chapter that keeps every rule."""
    cells = [new_markdown_cell(FIRST), code("draw()", "remove-input", mystnb=FIGURE)]
    cells.append(code("assert a < b", "remove-cell", "asserts"))
    links = "[in words](#in-words), [formula](#the-formula-and-how-to-use-it), [end](#summary)"
    cells.append(new_markdown_cell(f"**Ten minutes:** this screen, {links}.\n"))
    for title in SECTIONS:
        text = f"## {title}\n"
        if title == "Derivation":
            text += f"### Step 1. First\n{FORMULA}\n### Step 2. Then\n"
        if title == "Where it breaks":
            text += "### Here\n### There\n"
        if title == "Summary":
            text += "\n| formula | function |\n| --- | --- |\n| a | {func}`f` |\n"
        if title == "Exercises":
            for piece in re.split(r"(<code>)", text + EXERCISES):
                cells.append(
                    code("print(1)", "hide-input") if piece == "<code>" else new_markdown_cell(piece)
                )
            continue
        cells.append(new_markdown_cell(f"{text}\n{WORDS} {{numref}}`fig-{slug(title)}` $m_1$\n"))
        if title == "The smallest simulation":
            cells.append(code("from onestep_lib import f\n\nprint(f(1).round(2))"))
        if title in READ_AT_ONCE:
            figure = copy.deepcopy(FIGURE)
            figure["figure"]["name"] = f"fig-{slug(title)}"
            cells.append(code("draw()", "hide-input", mystnb=figure))
            cells.append(code("assert a < b", "remove-cell", "asserts"))
        if title == "Theory against simulation":
            cells.append(code("print(plotting.gap_summary(rows))", "hide-input"))
            cells.append(code("print(plotting.gap_table(rows))", "hide-output", "remove-input"))
    own = {"minutes": {"short": 10, "whole": 55}, "symbols": ["m_1"], "terms": ["term"], "needs": []}
    return new_notebook(cells=cells, metadata={"onestep": own | {"questions": ["Why?"] * 10}})


def edit(find: str, replacement: str) -> Callable[[dict], None]:
    """A defect made by replacing text in every cell."""

    def change(notebook: dict) -> None:
        assert find in "".join(cell["source"] for cell in notebook["cells"])
        for cell in notebook["cells"]:
            cell["source"] = cell["source"].replace(find, replacement)

    return change


def set_own(**values: object) -> Callable[[dict], None]:
    return lambda notebook: notebook["metadata"]["onestep"].update(values)


def add(cell: dict, after: str) -> Callable[[dict], None]:
    """A defect made by a cell put behind the first one that holds a text."""

    def change(notebook: dict) -> None:
        at = next(k for k, old in enumerate(notebook["cells"]) if after in old["source"])
        notebook["cells"].insert(at + 1, copy.deepcopy(cell))

    return change


def first_code(text: str, **metadata: object) -> Callable[[dict], None]:
    """A defect in the metadata of the first code cell that holds a text."""

    def change(notebook: dict) -> None:
        cells = (c for c in notebook["cells"] if c["cell_type"] == "code" and text in c["source"])
        next(cells)["metadata"].update(metadata)

    return change


def describe(part: str, key: str, value: str) -> Callable[[dict], None]:
    figure = copy.deepcopy(FIGURE)
    figure[part][key] = value
    return first_code("draw()", mystnb=figure)


def move_figure_up(notebook: dict) -> None:
    cells = notebook["cells"]
    cells.insert(0, cells.pop(1))


def printed_table(notebook: dict) -> None:
    cell = next(c for c in notebook["cells"] if "gap_summary" in c["source"])
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "a\nb\nc\n"}]


SIMULATION = "from onestep_lib"
DEFECTS = [
    (metadata_is_complete, lambda notebook: notebook["metadata"].pop("onestep")),
    (metadata_is_complete, set_own(terms="term")),
    (metadata_is_complete, set_own(minutes={"short": 10})),
    (metadata_is_complete, set_own(minutes={"short": 10, "whole": 110})),
    (metadata_is_complete, set_own(questions=["Why?"])),
    (new_symbols_are_few, set_own(symbols=["m_1"] * 6)),
    (new_symbols_are_few, set_own(symbols=[r"\zeta"])),
    (length_is_within_bounds, edit(WORDS, "few")),
    (length_is_within_bounds, edit(WORDS, f"{WORDS} {WORDS}")),
    (equations_are_few, edit(FORMULA, "\n".join([FORMULA] * 16))),
    (visible_code_is_short, edit("print(f(1)", "\n".join(f"x{k} = {k}" for k in range(9)) + "\nprint(f(1)")),
    (visible_code_is_short, edit("print(f(1)", "print(" + "1 + " * 20 + "f(1)")),
    (visible_code_formats_nothing, edit("f(1).round(2)", 'f"{f(1):.2f}"')),
    (visible_code_formats_nothing, edit("f(1).round(2)", '"{:.2f}".format(f(1))')),
    (visible_code_formats_nothing, edit("f(1).round(2)", '"%.2f" % f(1)')),
    (visible_code_formats_nothing, edit("f(1).round(2)", 'format(f(1), ".2f")')),
    (first_screen_is_plain, first_code("draw()", tags=["hide-input"])),
    (first_screen_is_plain, add(code("import numpy"), "# Title")),
    (first_screen_is_plain, add(code("draw()", "remove-input", mystnb=FIGURE), "# Title")),
    (first_screen_is_plain, edit("**Ten minutes", "```{note}\nLong.\n```\n\n**Ten minutes")),
    (first_screen_is_plain, edit("**The answer.**", "So:")),
    (first_screen_is_plain, edit("**The question.** What happens?", "This chapter is long.")),
    (sections_stand_in_order, edit("## Open question", "## Outlook")),
    (sections_stand_in_order, edit("## Summary", "## Derivation")),
    (sections_stand_in_order, lambda notebook: notebook["cells"].insert(0, notebook["cells"].pop())),
    (steps_are_numbered_once, edit("### Step 2.", "### Step 3.")),
    (steps_are_numbered_once, edit("### Step 1. First", "### Step 1: First")),
    (steps_are_numbered_once, edit("### Here", "### Step 3. Here")),
    (questions_come_before_their_picture, edit(":::{predict}", ":::{note}")),
    (questions_come_before_their_picture, move_figure_up),
    (
        questions_come_before_their_picture,
        edit("## References", "## References\n:::{predict} And?\n- [x] a\n:::"),
    ),
    (questions_are_well_formed, edit("- [ ] This\n\n  No.\n", "")),
    (questions_are_well_formed, edit("- [ ] This", "- [x] This")),
    (questions_are_well_formed, edit("\n  No.\n", "")),
    (something_to_look_at_comes_often, edit("## Derivation\n", f"## Derivation\n{WORDS}\n\n")),
    (exercises_are_complete, edit("*Check · 10 minutes", "*Check")),
    (exercises_are_complete, edit("*Check · ", "*Think · ")),
    (exercises_are_complete, edit("*Check · ", "*Derive · ")),
    (exercises_are_complete, edit("builds on step 1.", "builds on step 7.")),
    (exercises_are_complete, edit(":::{dropdown} Hint", ":::{note} Hint")),
    (exercises_are_complete, edit("{solution-start} ex-check", "{solution-start} ex-other")),
    (exercises_are_complete, lambda notebook: notebook["cells"].pop(-4)),
    (figures_are_described, describe("figure", "name", "a")),
    (figures_are_described, describe("figure", "caption", "Loss.")),
    (figures_are_described, describe("image", "alt", "A plot.")),
    (prose_about_figures_is_asserted, edit("assert a < b", "a < b")),
    (prose_about_figures_is_asserted, add(code("draw()", mystnb=FIGURE), "gap_table")),
    (checks_print_one_line, first_code("gap_table", tags=["hide-input"])),
    (checks_print_one_line, edit("gap_summary", "summary")),
    (checks_print_one_line, printed_table),
    (ten_minutes_lead_somewhere, edit("**Ten minutes:**", "Soon:")),
    (ten_minutes_lead_somewhere, edit("(#in-words)", "(#in-a-picture)")),
    (ten_minutes_lead_somewhere, edit("[end](#summary)", "the end")),
    (it_breaks_at_most_twice, edit("### There", "### There\n### Everywhere")),
    (code_appears_with_the_smallest_simulation, first_code(SIMULATION, tags=["hide-input"])),
    (summary_lists_functions, edit("{func}`f`", "f")),
    (no_line_is_skipped, edit("### Step 2. Then\n", "### Step 2. Then\nAfter some algebra one finds a.\n")),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_good_chapter_has_no_fault(rule):
    assert rule(good()) == []


@pytest.mark.parametrize(
    ("rule", "plant"), DEFECTS, ids=[f"{rule.__name__}-{k}" for k, (rule, _) in enumerate(DEFECTS)]
)
def test_a_rule_sees_its_defect(rule, plant):
    notebook = good()
    plant(notebook)
    assert rule(notebook)


def test_every_rule_has_a_defect():
    assert {rule for rule, _ in DEFECTS} == set(RULES)
