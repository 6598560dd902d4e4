"""The book's own Sphinx extension: one job per module, wired together here.

cache        chapters run again when the library changes
formulas     KaTeX sets them while the site is built
reference    the library's pages, from its docstrings
predict      questions that the reader answers before the page does
notebooks    notebooks for JupyterLab, Binder and Colab, made from the pages
repository   what depends on the public repository's address
results      every result, stated once
search       words and numbers as readers type them, and which page comes first
slides       of each chapter, from its page
pages        pictures, ids and files that the theme's HTML would carry otherwise
"""

import os

from sphinx.application import Sphinx

from . import cache, formulas, notebooks, pages, predict, reference, repository, results, search, slides


def setup(app: Sphinx) -> dict[str, bool]:
    # The kernels that run the chapters inherit this: the library then draws figures
    # for a page without a kernel instead of widgets that would be dead there.
    os.environ["ONESTEP_STATIC"] = "1"
    modules = (cache, formulas, reference, results, search, repository, predict, notebooks, pages, slides)
    for module in modules:
        module.connect(app)
    return {"parallel_read_safe": True}
