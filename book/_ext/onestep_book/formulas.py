"""Room for formulas before MathJax has set them, so that the page does not jump when it does.

MathJax sets a formula when it comes near the window. Until then its place is as wide and as high as its TeX
suggests; onestep.css reads the two properties written here.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

FORMULA = re.compile(r'<(span|div) class="(math notranslate nohighlight[^"]*)"([^>]*)>(.*?)</\1>', re.DOTALL)
EQUATION_NUMBER = re.compile(r'<span class="eqno">.*?</span>', re.DOTALL)
WORDS = re.compile(r"\\(?:text|operatorname|mathrm|mathbf|mathbb|mathcal|mathit)\*?(?=\{|\s*\w)")
SILENT = re.compile(
    r"\\(?:left|right|big|Big|bigg|Bigg|bigl|bigr|Bigl|Bigr|displaystyle|limits|hat|bar|tilde|vec|dot|widehat"
    r"|widetilde|overline|underline|begin\{\w+\*?\}|end\{\w+\*?\}|label\{[^}]*\}|[,;!:]|[()\[\]])(?![a-zA-Z])"
)
SMALL = re.compile(r"[_^](?:\{([^{}]*)\}|(\\[a-zA-Z]+|.))")
GLYPH = 0.56  # em of a letter or sign, on average
SMALLER = 0.7  # of it in an index


def connect(app: Sphinx) -> None:
    app.connect("html-page-context", keep_room)


def keep_room(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    if 'class="math ' in context.get("body", ""):
        context["body"] = FORMULA.sub(with_room, context["body"])


def with_room(found: re.Match) -> str:
    tag, classes, attributes, content = found.groups()
    room = f"--wide:{width(content):.1f}em" if tag == "span" else f"--high:{height(content):.1f}em"
    return f'<{tag} class="{classes}"{attributes} style="{room}">{content}</{tag}>'


def width(tex: str) -> float:
    r"""Width in em of a formula in a line, from what its TeX shows.

    >>> round(width(r"\(\lambda\)"), 2), round(width(r"\(x_{ij}^2\)"), 2)
    (0.56, 1.74)
    """
    shown = SILENT.sub("", WORDS.sub("", tex))
    letters = 0.0
    while small := SMALL.search(shown):
        letters += SMALLER * glyphs(small[1] or small[2])
        shown = shown[: small.start()] + shown[small.end() :]
    return GLYPH * (letters + glyphs(shown))


def glyphs(tex: str) -> int:
    """Letters and signs that are seen: a command is one, braces and spaces are none."""
    return len(re.sub(r"[{}\s&$\\]", "", re.sub(r"\\[a-zA-Z]+|&\w+;", "x", tex)))


def height(tex: str) -> float:
    r"""Height in em of a displayed formula with its margins.

    >>> height(r"\[a=b\]") < height(r"\[a=\frac bc\]") < height(r"\[\begin{aligned}a&=b\\c&=d\end{aligned}\]")
    True
    """
    rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?", EQUATION_NUMBER.sub("", tex)) if row.strip()]
    return sum(map(row_height, rows)) + 0.3 * (len(rows) - 1) + 2.0


def row_height(row: str) -> float:
    if re.search(r"\\(?:sum|prod|max|min|lim|arg)\b", row):
        return 2.9 if r"\sum" in row or r"\prod" in row else 1.9
    return 2.3 if re.search(r"\\(?:d?frac|int|binom|underbrace|Big|left)", row) else 1.25
