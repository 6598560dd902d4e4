"""The book's own Sphinx extension: one job per module, wired together here.

cache        chapters run again when the library changes
docstrings   the library's docstrings as reference pages
offline      MathJax from a Python wheel, scripts that would leave the site removed
results      every result, stated once
repository   launch buttons and the notes on what needs a kernel
reference    what each room of the library is for, from its docstrings
predict      questions that the reader answers before the page does
formulas     room for formulas that are not set yet, with the comma behind them, written by pages
numbers      references to numbered things, each page read once
unfolding    bars that unfold a table say which
icons        the icons in use, cut from the theme's fonts
map          the map of the book and the reading paths
companion    what the sources say, line by line, with its place, function and test
teaching     each chapter as a lesson of 45 and of 90 minutes
search       which page a word finds first
lost         the page for addresses that lead nowhere
notebooks    notebooks for JupyterLab, Binder and Colab, made from the pages
pictures     pictures with 256 colours, a third of their bytes
pages        description and social card of every page, its way back, repairs of the theme's HTML
"""

import os

from sphinx.application import Sphinx

from . import (
    cache,
    companion,
    docstrings,
    icons,
    lost,
    map,
    notebooks,
    numbers,
    offline,
    pages,
    pictures,
    predict,
    reference,
    repository,
    results,
    search,
    teaching,
    unfolding,
)


def setup(app: Sphinx) -> dict[str, bool]:
    # The kernels that run the chapters inherit this: the library then draws figures
    # for a page without a kernel instead of widgets that would be dead there.
    os.environ["ONESTEP_STATIC"] = "1"
    parts = (
        cache,
        docstrings,
        reference,
        map,
        companion,
        results,
        teaching,
        search,
        numbers,
        unfolding,
        offline,
        repository,
        predict,
        notebooks,
        pages,
        lost,
        icons,
        pictures,
    )
    for module in parts:
        module.connect(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
