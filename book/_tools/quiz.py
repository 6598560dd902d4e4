"""The questions before the figures as a quiz: GIFT, which Moodle imports and other platforms convert.

python -m book._tools.quiz > quiz.gift
"""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
QUESTION = re.compile(r"^:::\{predict\} *(.+?)\n:name: *(\S+)\n(.+?)^:::", re.MULTILINE | re.DOTALL)
ANSWER = re.compile(r"^- \[([x ])\] (.+?)(?=^- \[|\Z)", re.MULTILINE | re.DOTALL)


def plain(text: str) -> str:
    """Markdown as GIFT: formulas in \\( \\), no roles and no marks of emphasis, GIFT's own signs escaped."""
    text = re.sub(r"\s*\(?\{(?:numref|ref|eq|doc)\}`[^`]*`\)?", "", text)
    text = re.sub(r"\{[\w:]+\}`([^`<]*?)(?: ?<[^`]*>)?`", r"\1", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"\$([^$]+)\$", " ".join(text.split()))
    for k, part in enumerate(parts):
        part = rf"\({part}\)" if k % 2 else re.sub(r"[*`]", "", part)
        parts[k] = re.sub(r"([\\~=#{}:])", r"\\\1", part)
    return "".join(parts)


def gift(notebook: Path) -> list[str]:
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    questions = []
    for question, name, answers in QUESTION.findall("\n\n".join("".join(cell["source"]) for cell in cells)):
        lines = [f"::{name}::{plain(question)} {{"]
        for right, answer in ANSWER.findall(answers):
            choice, _, reason = answer.partition("\n\n")
            lines.append(f"{'=' if right == 'x' else '~'}{plain(choice)}#{plain(reason)}")
        questions.append("\n".join([*lines, "}"]))
    return questions


if __name__ == "__main__":
    for path in sorted((ROOT / "book").glob("[0-9]*.ipynb")):
        print("\n\n".join([f"$CATEGORY: {path.stem}", *gift(path)]), end="\n\n")
