"""Room for formulas before MathJax has set them, so that the page does not jump when it does.

MathJax sets a formula when it comes near the window. Until then its place is as wide and as high as its TeX
suggests; onestep.css reads the two properties written here. A formula in the text is a box to the browser,
which may break the line on both sides of it: what is written without a space beside it is kept with it.
"""

import re
from collections import Counter

FORMULA = re.compile(
    r"([(\[]*)"
    r'<(span|div) class="(math notranslate nohighlight[^"]*)"((?:(?!style=)[^>])*)>(.*?)</\2>'
    r"((?:[-–]\w+|\w{1,3}(?!\w))?[,.;:!?)\]’”%]*)",
    re.DOTALL,
)
EQUATION_NUMBER = re.compile(r'<span class="eqno">.*?</span>', re.DOTALL)
SET_UPRIGHT = re.compile(r"\\(?:text|operatorname|mathrm|mathbf|mathbb|mathcal|mathit)\*?(?=\{|\s*\w)")
SILENT = re.compile(
    r"\\(?:left|right|[bB]igg?[lr]?|displaystyle|limits|hat|bar|tilde|vec|dot|widehat|widetilde|overline"
    r"|underline|begin\{\w+\*?\}|end\{\w+\*?\}|label\{[^}]*\})(?![a-zA-Z])|\\[,;!:()\[\]]"
)
SMALL = re.compile(r"[_^](?:\{([^{}]*)\}|(\\[a-zA-Z]+|.))")
FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{([^{}]*)\}|(\w|\\[a-zA-Z]+))\s*(?:\{([^{}]*)\}|(\w|\\[a-zA-Z]+))")
NAMED = re.compile(r"\\((?:sin|cos|tan)h?|arccos|arcsin|log|ln|exp|arg|min|max|lim|tr|det)(?![a-zA-Z])")
# Kinds of signs, each with its width in em of the page's text beside a line and in an index: least squares
# over the 1,536 formulas of the first edition. What matches no kind is a small letter.
KINDS = {
    "relation": (
        r"[=<>]|\\(?:le|ge|to|approx|sim|simeq|asymp|equiv|ll|gg|in|mapsto|propto|ne|mid)(?![a-zA-Z])",
        1.67,
        0.31,
    ),
    "operation": (r"[+-]|\\(?:circ|cdot|times|pm)(?![a-zA-Z])", 1.31, 0.78),
    "quad": (r"\\q?quad(?![a-zA-Z])", 1.26, 0.0),
    "sum": (r"\\(?:sum|prod|int)(?![a-zA-Z])", 1.57, 0.00),
    "broad": (r"[mwMWNQGHEDO]|\\(?:infty|omega)(?![a-zA-Z])", 1.15, 0.76),
    "capital": (r"[A-Z]|\\(?:Delta|Sigma|Phi|Psi|Pi|Theta)(?![a-zA-Z])", 1.02, 0.78),
    "digit": (r"\d", 0.62, 0.43),
    "bracket": (r"[()\[\]|]|\\(?:lvert|rvert|langle|rangle|\{|\})", 0.43, 0.29),
    "point": (r"[,.;:!'/]", 0.60, 0.24),
    "narrow": (r"[ijlftrsI]", 0.58, 0.32),
    "letter": (r"\\[a-zA-Z]+|&\w+;|[^{}\s&$\\]", 0.72, 0.49),
}
SIGN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, (pattern, *_) in KINDS.items()))


def with_rooms(page: str) -> str:
    """A page whose formulas say their sizes; running it twice changes nothing more."""
    return FORMULA.sub(with_room, page)


def with_room(found: re.Match) -> str:
    before, tag, classes, attributes, content, after = found.groups()
    room = f"--wide:{width(content):.1f}em" if tag == "span" else f"--high:{height(content):.1f}em"
    formula = f'<{tag} class="{classes}"{attributes} style="{room}">{content}</{tag}>'
    if tag == "span" and before + after:
        return f'<span class="onestep-together">{before}{formula}{after}</span>'
    return before + formula + after


def width(tex: str) -> float:
    r"""Width in em of a formula in a line, from what its TeX shows.

    >>> width(r"\(\lambda\)") < width(r"\(\lambda n\)") < width(r"\(\lambda=n\)")
    True
    """
    line, index = counts(tex)
    return sum(KINDS[kind][1] * number for kind, number in line.items()) + sum(
        KINDS[kind][2] * number for kind, number in index.items()
    )


def counts(tex: str) -> tuple[Counter[str], Counter[str]]:
    """How many signs of each kind stand in the line, and how many in indices."""
    shown = NAMED.sub(r"\1", SILENT.sub("", SET_UPRIGHT.sub("", tex)))
    shown = FRACTION.sub(lambda found: max(filter(None, found.groups()), key=len), shown)
    index: Counter[str] = Counter()
    while small := SMALL.search(shown):
        index += signs(small[1] or small[2])
        shown = f"{shown[: small.start()]} {shown[small.end() :]}"
    return signs(shown), index


def signs(tex: str) -> Counter[str]:
    """Signs that are seen, by kind."""
    return Counter(str(found.lastgroup) for found in SIGN.finditer(tex))


def height(tex: str) -> float:
    r"""Height in em of a displayed formula with its margins.

    >>> height(r"\[a=b\]") < height(r"\[a=\frac bc\]") < height(r"\[\begin{aligned}a&=b\\c&=d\end{aligned}\]")
    True
    """
    rows = [row for row in re.split(r"\\\\(?:\[[^\]]*\])?", EQUATION_NUMBER.sub("", tex)) if row.strip()]
    return sum(map(row_height, rows)) + 0.4 * (len(rows) - 1) + 2.7


def row_height(row: str) -> float:
    if re.search(r"\\(?:sum|prod)(?![a-zA-Z])", row):
        return 3.4
    return 2.9 if re.search(r"\\(?:d?frac|int|binom|underbrace|lim|min|max)(?![a-zA-Z])", row) else 1.4
