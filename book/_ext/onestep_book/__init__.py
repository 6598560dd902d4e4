"""The book's own Sphinx extension: one job per module, wired together here.

cache        chapters run again when the library changes
docstrings   the library's docstrings as reference pages
offline      MathJax from a Python wheel, scripts that would leave the site removed
repository   launch buttons and the notes on what needs a kernel
reference    what each room of the library is for, from its docstrings
predict      questions that the reader answers before the page does
pages        description and social card of every page, repairs of the theme's HTML
"""

import os

from sphinx.application import Sphinx

from . import cache, docstrings, offline, pages, predict, reference, repository


def setup(app: Sphinx) -> dict[str, bool]:
    # The kernels that run the chapters inherit this: the library then draws figures
    # for a page without a kernel instead of widgets that would be dead there.
    os.environ["ONESTEP_STATIC"] = "1"
    for module in (cache, docstrings, reference, offline, repository, predict, pages):
        module.connect(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
