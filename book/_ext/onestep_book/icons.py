"""The icons in use, cut from the theme's icon fonts: 4 kB in place of 270.

onestep.css names the icons; the theme's own style sheet names two thousand, of which pages use no other.
"""

import re
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont
from sphinx.application import Sphinx

FONTS = {"fa-solid-900": "solid", "fa-brands-400": "brands"}
CODE = re.compile(r'"\\([ef][0-9a-f]{3})"')
# One rule of the theme for each icon: `.fa-name:before{content:"\f000"}`, several names in a row.
NAMED = re.compile(r'(?:\.fa-[\w-]+:before,?)+\{content:"[^"]*"\}')
ADMONITION = re.compile(r"--pst-icon-[\w-]+:\s*\"(.)\"")
UNUSED = ("scripts/fontawesome.js*", "vendor/fontawesome/**/*", "**/*.map", "**/*.js.LICENSE.txt")


def connect(app: Sphinx) -> None:
    app.connect("build-finished", cut_fonts, priority=950)


def cut_fonts(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    static = Path(app.outdir) / "_static"
    theme = static / "styles" / "pydata-sphinx-theme.css"
    fonts = static / "vendor" / "fontawesome" / "webfonts"
    if not any(fonts.glob("*.ttf")):  # a build that copied nothing anew: what the last one cut is there
        return
    style = theme.read_text("utf-8")
    own = static / "onestep.css"
    used = codes(own.read_text("utf-8") if own.is_file() else "", style)
    for name, short in FONTS.items():
        write_subset(fonts / f"{name}.ttf", static / "icons" / f"{short}.woff", used)
    theme.write_text(NAMED.sub("", style), "utf-8")
    for pattern in UNUSED:
        for file in static.glob(pattern):
            if file.is_file():
                file.unlink()


def codes(own: str, theme: str) -> set[int]:
    """Code points of the icons that our style sheet names and of those beside the titles of boxes."""
    return {int(code, 16) for code in CODE.findall(own)} | {ord(sign) for sign in ADMONITION.findall(theme)}


def write_subset(font: Path, target: Path, used: set[int]) -> None:
    options = subset.Options(flavor="woff", layout_features=[], notdef_outline=True, recalc_timestamp=False)
    cutter = subset.Subsetter(options)
    opened = TTFont(font, recalcTimestamp=False)
    cutter.populate(unicodes=used)
    cutter.subset(opened)
    target.parent.mkdir(exist_ok=True)
    subset.save_font(opened, str(target), options)
