"""Ten rules for the chapters' prose, as far as a machine can judge it; `make lint` prints what breaks one.

python tests/tools/prose.py [notebook ...]
"""

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests" / "book"))

from chapter_parts import Part, parts  # noqa: E402

WORDS, STRETCH, SENTENCE = 3000, 300, 60  # words of a chapter, without something to look at, of a sentence
SYMBOLS, EQUATIONS = 5, 15
LINES, COLUMNS = 8, 75
FILLERS = (
    "of course|note that|it is worth|in order to|needless to say|actually|basically|simply|really|"
    "importantly|one finds|turns? out|it is easy to|clearly|obviously|straightforward|after some algebra"
)
FILLER = re.compile(rf"\b(?:{FILLERS})\b", re.IGNORECASE)
FLOATING = re.compile(r"This (?:is|was|means|holds|shows|gives|makes|follows|happens|has|says)\b")
BEFORE_EXERCISES = "Exercises"


def faults(notebook: dict) -> Iterator[str]:
    """What breaks a rule in a chapter, each as a sentence that says where and what to do."""
    row = parts(notebook)
    symbols = notebook["metadata"].get("onestep", {}).get("symbols", [])
    if len(symbols) > SYMBOLS:
        yield f"{len(symbols)} new symbols, at most {SYMBOLS}"
    text = re.sub(r"\s", "", "".join(part.text for part in row))
    yield from (f"{x} is said to be new and not used" for x in symbols if re.sub(r"\s", "", x) not in text)
    if (words := sum(part.words for part in row)) > WORDS:
        yield f"{words} words, at most {WORDS}, hints, reasons and solutions apart"
    shown = sum(part.kind == "equation" and not part.folded for part in row)
    if shown > EQUATIONS:
        yield f"{shown} display equations, at most {EQUATIONS} outside solutions"
    yield from long_stretches(row)
    for part in row:
        if part.kind == "prose":
            yield from faults_of_sentences(part.text)
        elif part.visible_code:
            yield from faults_of_code(part.text)
        elif part.is_figure:
            yield from faults_of_figure(part.mystnb)


def long_stretches(row: list[Part]) -> Iterator[str]:
    run, start = 0, ""
    for part in row:
        if part.section == BEFORE_EXERCISES:
            return
        if part.is_look:
            run, start = 0, ""
        run += part.words
        start = start or (part.text[:50] if part.words else "")
        if run > STRETCH >= run - part.words:
            yield f"more than {STRETCH} words without figure, explorer or table, from {start!r}"


def faults_of_sentences(text: str) -> Iterator[str]:
    for sentence in re.split(r"(?<=[.!?])\s+", text):
        if (length := len(sentence.split())) > SENTENCE:
            yield f"a sentence of {length} words, at most {SENTENCE}: {sentence[:60]!r}"
        if FLOATING.match(sentence):
            yield f"what is `this`? {sentence[:60]!r}"
    for filler in FILLER.finditer(text):
        yield f"leave out {filler[0]!r}, or write the line that it stands for: {text[:60]!r}"


def faults_of_code(text: str) -> Iterator[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > LINES:
        yield f"a visible cell of {len(lines)} lines, at most {LINES}: {lines[0]!r}"
    yield from (
        f"a line of more than {COLUMNS} characters: {line!r}" for line in lines if len(line) > COLUMNS
    )
    tree = ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", text, flags=re.MULTILINE))
    for node in ast.walk(tree):
        called = node.func if isinstance(node, ast.Call) else None
        name = getattr(called, "attr", getattr(called, "id", ""))
        if isinstance(node, ast.JoinedStr) or name == "format":
            yield f"print rounded numbers, no format strings: {ast.unparse(node)}"


def faults_of_figure(mystnb: dict) -> Iterator[str]:
    figure, alt = mystnb["figure"], mystnb.get("image", {}).get("alt", "")
    name, caption = figure.get("name", ""), figure.get("caption", "")
    if not name.startswith("fig-") or len(caption.split()) < 5:
        yield f"figure {name!r}: a name fig-... and a caption that says what is drawn"
    if len(alt.split()) < 8 or alt == caption:
        yield f"figure {name!r}: mystnb.image.alt says what one sees"


def main(arguments: list[str]) -> int:
    paths = [Path(a) for a in arguments] or sorted((ROOT / "book").glob("[0-9][0-9]-*.ipynb"))
    found = [
        f"{path.stem}: {fault}" for path in paths for fault in faults(json.loads(path.read_text("utf-8")))
    ]
    print(*found, f"{len(paths)} chapters, {len(found)} faults", sep="\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
