"""The pattern of a chapter: what stands where. Its prose is judged by `tests/tools/prose.py`.

A rule goes from a notebook to faults, sentences that say where and what to do; below, each finds a defect
that is planted into the first chapter.
"""

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from chapter_parts import QUESTIONS, Part, headings, parts, slug

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "tools"))

import prose  # noqa: E402

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
FOLDED_LINES = 15
FIRST_SCREEN = ""  # the section before the first heading of level 2
SHORT, WHOLE, QUESTIONS_ASKED = 10, 60, 10  # minutes of the two speeds; questions that a reader is asked
EXERCISE = re.compile(r"\*(Check|Derive|Extend) · (\d+) minutes(, [^·*]+)? · builds on [^*]+\.?\*")
Rule = Callable[[dict], list[str]]


def own(notebook: dict) -> dict:
    """What a chapter says of itself."""
    return notebook["metadata"].get("onestep", {})


def raw(notebook: dict) -> str:
    return "\n".join("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")


def directives(notebook: dict, name: str) -> list[Part]:
    return [p for p in parts(notebook) if p.kind == "directive" and p.name == name]


def metadata_is_complete(notebook: dict) -> list[str]:
    found, minutes = own(notebook), own(notebook).get("minutes", {})
    lists = [found.get(key) for key in ("symbols", "terms", "needs", "questions")]
    faults = [] if all(isinstance(x, list) for x in lists) else ["symbols, terms, needs, questions: lists"]
    if not 0 < minutes.get("short", 0) <= SHORT <= minutes.get("whole", 0) <= WHOLE:
        faults.append(f"minutes: short at most {SHORT}, whole at most {WHOLE}")
    if len(found.get("questions", [])) < QUESTIONS_ASKED:
        faults.append(f"{QUESTIONS_ASKED} questions that a reader should be able to answer")
    return faults


def sections_stand_in_order(notebook: dict) -> list[str]:
    found = headings(notebook, "h2")
    return [] if found == SECTIONS else [f"sections {SECTIONS}, and not {found}"]


def first_screen_is_plain(notebook: dict) -> list[str]:
    """The question, one figure, the answer; no open code, no table, no box."""
    first = [part for part in parts(notebook) if part.section == FIRST_SCREEN]
    faults = [
        f"move below `## {SECTIONS[0]}` or tag hide-input: {part.kind} {part.name} {part.text[:40]}"
        for part in first
        if part.visible_code
        or part.kind in ("table", "equation")
        or (part.kind == "directive" and part.name not in QUESTIONS)
    ]
    if sum(part.is_figure for part in first) != 1:
        faults.append("show one figure on the first screen")
    text = [part.text for part in first if part.kind == "prose" and not part.folded]
    if "?" not in "".join(text[:1]) or not any("The answer" in one for one in text):
        faults.append("the first paragraph asks the question; **The answer.** begins a sentence")
    return faults


def steps_are_numbered_once(notebook: dict) -> list[str]:
    steps = [p for p in parts(notebook) if p.kind == "heading" and re.match(r"Step\b", p.text)]
    found = [(p.section, p.name, p.text.partition(". ")[0]) for p in steps]
    wanted = [("Derivation", "h3", f"Step {k + 1}") for k in range(len(steps))]
    return [] if steps and found == wanted else [f"write `### Step 1. ...` and so on; found {found}"]


def questions_come_before_their_picture(notebook: dict) -> list[str]:
    row = parts(notebook)
    asked = [k for k, p in enumerate(row) if p.kind == "directive" and p.name == "predict"]
    figures = [k for k, p in enumerate(row) if p.is_figure]
    faults = [] if asked and asked[0] < figures[0] else ["ask with `predict` before the first figure"]
    for k in asked:
        after = [p for p in row[k:] if p.section == row[k].section]
        if not any(p.is_look or (p.kind == "code" and "remove-cell" not in p.tags) for p in after):
            faults.append(f"nothing in this section answers the question: {row[k].text[:60]}")
    return faults


def exercises_are_complete(notebook: dict) -> list[str]:
    row, text, faults, kinds = parts(notebook), raw(notebook), [], set()
    steps = len([p for p in row if p.kind == "heading" and p.name == "h3" and p.section == "Derivation"])
    for label in [p.options.get("label", "?") for p in directives(notebook, "exercise-start")]:
        head = rf"{{exercise-start}}[^\n]*\n(?::.*\n)*?:label: {re.escape(label)}\n(?::.*\n)*`+\n+"
        body = re.search(head, text)
        found = EXERCISE.match(text, body.end()) if body else None
        if found is None:
            faults.append(f"{label}: begin with `*Check · 10 minutes · builds on step 3.*`")
        else:
            kinds.add(found[1])
            numbers = re.findall(r"step (\d+)", found[0])
            if any(not 1 <= int(n) <= steps for n in numbers):
                faults.append(f"{label}: builds on a step that is not there")
        if not any(p.text == "Hint" and is_folded(p) for p in row if p.exercise == label):
            faults.append(f"{label}: give a hint, `:::{{dropdown}} Hint`")
        solution = [p for p in row if p.solution == label]
        if not any(p.name.startswith("solution") and is_folded(p) for p in solution):
            faults.append(f"{label}: give a solution of class dropdown")
        elif not any(p.kind == "code" for p in solution):
            faults.append(f"{label}: back the solution by a code cell")
    return faults if kinds == {"Check", "Derive", "Extend"} else [*faults, "exercises of all three kinds"]


def is_folded(part: Part) -> bool:
    return part.name in ("dropdown", "solution") or "dropdown" in part.options.get("class", "")


def checks_print_one_line(notebook: dict) -> list[str]:
    cells = [p for p in parts(notebook) if p.kind == "code"]
    faults = [] if any("gap_summary(" in p.text for p in cells) else ["no check with plotting.gap_summary"]
    for part in cells:
        if "gap_table(" in part.text and "hide-cell" not in part.tags:
            faults.append(f"a table stands behind a click, hide-cell: {part.text[:60]!r}")
        lines = "".join("".join(output.get("text", "")) for output in part.cell.get("outputs", []))
        if len(lines.splitlines()) > part.text.count("gap_summary(") > 0:
            faults.append(f"a check prints one line: {part.text[:60]!r}")
    return faults


def ten_minutes_lead_somewhere(notebook: dict) -> list[str]:
    first, _, _ = raw(notebook).partition(f"## {SECTIONS[0]}")
    line = re.search(r"^\*\*Ten minutes:\*\*(.*(?:\n.+)*)", first, re.MULTILINE)
    links = re.findall(r"\]\(([^)\s]+)\)", line[1]) if line else []
    anchors = {slug(p.text) for p in parts(notebook) if p.kind == "heading"}
    anchors |= set(re.findall(r"^\(([\w-]+)\)=", raw(notebook), re.MULTILINE))
    faults = [f"{link} leads nowhere" for link in links if link.lstrip("#") not in anchors]
    return faults if len(links) >= 3 else [*faults, "end the first screen with `**Ten minutes:**` and links"]


def summary_lists_functions(notebook: dict) -> list[str]:
    text = raw(notebook).partition("## Summary")[2].partition("\n## ")[0]
    listed = re.search(r"^\|.*\{func\}", text, re.MULTILINE)
    return [] if listed else ["the summary ends in a table of formulas and functions"]


def a_reader_can_run_all(notebook: dict) -> list[str]:
    """What is absent only asserts; no other cell uses a name that only it defines, or folds over 15 lines."""
    cells = [p for p in parts(notebook) if p.kind == "code"]
    faults = [
        f"a cell is shown, folded (hide-input) or asserts (remove-cell, asserts): {part.text[:60]!r}"
        for part in cells
        if "remove-input" in part.tags or ("remove-cell" in part.tags) != ("asserts" in part.tags)
    ]
    own = [part.text for part in cells if "remove-cell" not in part.tags]
    for text in own:
        if len(lines := [line for line in text.splitlines() if line.strip()]) > FOLDED_LINES:
            faults.append(f"a folded cell of {len(lines)} lines, at most {FOLDED_LINES}: {lines[0]!r}")
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--select=F821",
        "--output-format=concise",
        "-",
    ]
    found = subprocess.run(command, input="\n".join(own), capture_output=True, text=True, check=False).stdout
    return faults + sorted(set(re.findall(r"Undefined name `\w+`", found)))


RULES: list[Rule] = [
    a_reader_can_run_all,
    metadata_is_complete,
    sections_stand_in_order,
    first_screen_is_plain,
    steps_are_numbered_once,
    questions_come_before_their_picture,
    exercises_are_complete,
    checks_print_one_line,
    ten_minutes_lead_somewhere,
    summary_lists_functions,
]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_keeps_the_pattern(path):
    notebook = json.loads(path.read_text("utf-8"))
    assert [f"{rule.__name__}: {fault}" for rule in RULES for fault in rule(notebook)] == []


def test_needs_stand_before_and_nothing_is_introduced_twice():
    seen: set[str] = set()
    for path in CHAPTERS:
        said = own(json.loads(path.read_text("utf-8")))
        new = [*said["symbols"], *said["terms"], path.stem]
        assert {x for x in said["needs"] if x not in seen} == set(), path.stem
        assert {x for x in new if x in seen or new.count(x) > 1} == set(), path.stem
        seen |= set(new)


def edit(pattern: str, replacement: str) -> Callable[[dict], None]:
    """A defect made where a pattern stands first in a cell's text."""

    def change(notebook: dict) -> None:
        for cell in notebook["cells"]:
            text = "".join(cell["source"])
            cell["source"] = re.sub(pattern, lambda _: replacement, text, count=1, flags=re.MULTILINE)
            if cell["source"] != text:
                return
        raise AssertionError(f"no {pattern}")

    return change


def insert(text: str, kind: str = "markdown", **metadata: object) -> Callable[[dict], None]:
    """A defect made by a cell put at the top."""
    cell = {"cell_type": kind, "source": text, "metadata": metadata}
    return lambda notebook: notebook["cells"].insert(0, cell)


def change_figure(part: str, key: str) -> Callable[[dict], None]:
    def change(notebook: dict) -> None:
        figure = next(c["metadata"]["mystnb"] for c in notebook["cells"] if "mystnb" in c["metadata"])
        figure[part][key] = "Loss."

    return change


WORDS = " ".join(["word"] * 301)
DEFECTS: list[tuple[Rule, str, Callable[[dict], None]]] = [
    (metadata_is_complete, "minutes", lambda notebook: own(notebook).pop("minutes")),
    (metadata_is_complete, "10 questions", lambda notebook: own(notebook).update(questions=["Why?"])),
    (a_reader_can_run_all, "shown, folded", insert("x = 1", "code", tags=["remove-input"])),
    (a_reader_can_run_all, "16 lines", insert("x = 1\n" * 16, "code", tags=["hide-input"])),
    (a_reader_can_run_all, "`only_there`", insert("print(only_there)", "code", tags=["hide-input"])),
    (sections_stand_in_order, "Outlook", edit("^## Open question", "## Outlook")),
    (first_screen_is_plain, "code", insert("import numpy", "code")),
    (first_screen_is_plain, "note", insert(":::{note}\nLong.\n:::")),
    (first_screen_is_plain, "asks", edit(r"\*\*The answer\.", "**So.")),
    (steps_are_numbered_once, "Step 3", edit("^### Step 2", "### Step 3")),
    (questions_come_before_their_picture, "before", insert("draw()", "code", mystnb={"figure": {}})),
    (exercises_are_complete, "begin with", edit(r"\*Check · ", "*Think · ")),
    (exercises_are_complete, "not there", edit(r"builds on step \d", "builds on step 99")),
    (exercises_are_complete, "hint", edit(r"\{dropdown\} Hint", "{note} Hint")),
    (exercises_are_complete, "solution", edit(r"\{solution-start\} ", "{solution-start} other-")),
    (checks_print_one_line, "behind a click", insert("print(gap_table(rows))", "code")),
    (checks_print_one_line, "no check", lambda notebook: notebook.update(cells=[])),
    (ten_minutes_lead_somewhere, "nowhere", edit(r"\(#in-words\)", "(#in-a-picture)")),
    (summary_lists_functions, "functions", edit(r"^## Summary", "## Summary\n\n## Rest")),
    (prose.faults, "new symbols", lambda notebook: own(notebook).update(symbols=["x"] * 6)),
    (prose.faults, "not used", lambda notebook: own(notebook).update(symbols=[r"\nosuch"])),
    (prose.faults, "3000", insert(f"{WORDS}. " * 10)),
    (prose.faults, "more than 300 words", insert(f"{WORDS}.")),
    (prose.faults, "a sentence", insert(f"{WORDS}.")),
    (prose.faults, "display equations", insert("\n\n".join(["$$\na\n$$"] * 16))),
    (prose.faults, "`this`", insert("One. This is two.")),
    (prose.faults, "'Of course'", insert("Of course not.")),
    (prose.faults, "9 lines", insert("\n".join(f"x{k} = 1" for k in range(9)), "code")),
    (prose.faults, "75 characters", insert("x = " + "1 + " * 20 + "1", "code")),
    (prose.faults, "no format", insert('print(f"{1}")', "code")),
    (prose.faults, "caption", change_figure("figure", "caption")),
    (prose.faults, "alt", change_figure("image", "alt")),
]


@pytest.mark.parametrize(("rule", "words", "plant"), DEFECTS)
def test_a_rule_sees_its_defect(rule, words, plant):
    notebook = copy.deepcopy(json.loads(CHAPTERS[0].read_text("utf-8")))
    plant(notebook)
    assert any(words in fault for fault in rule(notebook))
