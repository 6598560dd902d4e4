"""Room for formulas before MathJax has set them, so that the page does not jump when it does.

MathJax sets a formula when it comes near the window. Until then its place is as wide and as high as its TeX
suggests; onestep.css reads the two properties written here.
"""

import re

FORMULA = re.compile(
    r'<(span|div) class="(math notranslate nohighlight[^"]*)"((?:(?!style=)[^>])*)>(.*?)</\1>', re.DOTALL
)
EQUATION_NUMBER = re.compile(r'<span class="eqno">.*?</span>', re.DOTALL)
SET_UPRIGHT = re.compile(r"\\(?:text|operatorname|mathrm|mathbf|mathbb|mathcal|mathit)\*?(?=\{|\s*\w)")
SILENT = re.compile(
    r"\\(?:left|right|[bB]igg?[lr]?|displaystyle|limits|hat|bar|tilde|vec|dot|widehat|widetilde|overline"
    r"|underline|begin\{\w+\*?\}|end\{\w+\*?\}|label\{[^}]*\})(?![a-zA-Z])|\\[,;!:()\[\]]"
)
SMALL = re.compile(r"[_^](?:\{([^{}]*)\}|(\\[a-zA-Z]+|.))")
FRACTION = re.compile(r"\\[dt]?frac\s*(?:\{([^{}]*)\}|(\w|\\[a-zA-Z]+))\s*(?:\{([^{}]*)\}|(\w|\\[a-zA-Z]+))")
NAMED = re.compile(r"\\(sin|cos|tan|sinh|cosh|arccos|arcsin|log|ln|exp|arg|min|max|lim|tr|det)(?![a-zA-Z])")
BETWEEN = re.compile(
    r"[=+<>-]|\\(?:le|ge|to|approx|sim|simeq|asymp|equiv|ll|gg|in|mapsto|propto|circ|cdot|mid|times|pm|ne"
    r"|quad|qquad|Rightarrow)(?![a-zA-Z])"
)
# Em of the page's text, as least squares over the book's 1,536 formulas in lines gave them.
LETTER, CAPITAL, INDEX, SPACED = 0.66, 1.06, 0.46, 1.53


def with_rooms(page: str) -> str:
    """A page whose formulas say their sizes; running it twice changes nothing more."""
    return FORMULA.sub(with_room, page)


def with_room(found: re.Match) -> str:
    tag, classes, attributes, content = found.groups()
    room = f"--wide:{width(content):.1f}em" if tag == "span" else f"--high:{height(content):.1f}em"
    return f'<{tag} class="{classes}"{attributes} style="{room}">{content}</{tag}>'


def width(tex: str) -> float:
    r"""Width in em of a formula in a line, from what its TeX shows.

    >>> width(r"\(\lambda\)") < width(r"\(\lambda n\)") < width(r"\(\lambda=n\)")
    True
    """
    letters, capitals, indices, spaced = counts(tex)
    return LETTER * letters + CAPITAL * capitals + INDEX * indices + SPACED * spaced


def counts(tex: str) -> tuple[int, int, int, int]:
    """Small letters and signs, capitals, what stands in indices, and signs with space about them."""
    shown = NAMED.sub(r"\1", SILENT.sub("", SET_UPRIGHT.sub("", tex)))
    shown = FRACTION.sub(lambda found: max(filter(None, found.groups()), key=glyphs), shown)
    indices = 0
    while small := SMALL.search(shown):
        indices += glyphs(small[1] or small[2])
        shown = shown[: small.start()] + shown[small.end() :]
    spaced = len(BETWEEN.findall(shown))
    capitals = len(re.findall(r"(?<!\\)(?<![\\a-zA-Z])[A-Z]|[A-Z](?=[^a-z])", shown))
    return glyphs(shown) - spaced - capitals, capitals, indices, spaced


def glyphs(tex: str) -> int:
    """Letters and signs that are seen: a command is one, braces and spaces are none."""
    return len(re.sub(r"[{}\s&$\\]", "", re.sub(r"\\[a-zA-Z]+|&\w+;", "x", tex)))


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
