"""Launch buttons: hidden while the repository's address is a placeholder, right once it is set."""

import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
import yaml
from pages import CHAPTERS, ROOT, SITE

REPOSITORY = "https://github.com/some-lab/one-step"
BINDER = "https://mybinder.org/v2/gh/some-lab/one-step/notebooks?urlpath=lab/tree/"
COLAB = "https://colab.research.google.com/github/some-lab/one-step/blob/notebooks/"
OUTSIDE = re.compile(r"your-account|mybinder|colab\.research|github\.com/(?!executablebooks)")


def links(page: Path) -> set[str]:
    return {unescape(link) for link in re.findall(r'href="([^"]+)"', page.read_text("utf-8"))}


def kernel_note(page: Path) -> str | None:
    """Where a page sends a reader for what needs a kernel."""
    found = re.search(r'<a class="onestep-binder" href="([^"]+)"', page.read_text("utf-8"))
    return found and found[1]


WITH_KERNEL = next((page for page in CHAPTERS if kernel_note(SITE / page)), None)


@pytest.fixture(scope="module")
def published(site, tmp_path_factory) -> Path:
    """Three pages built again with an address; the chapters' outputs come from the first build's cache."""
    folder = tmp_path_factory.mktemp("published")
    shutil.copytree(SITE.parent / ".chapters", folder / "_build" / ".chapters")
    settings = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    settings["repository"]["url"] = REPOSITORY
    settings["sphinx"]["local_extensions"] = {"onestep_book": str(ROOT / "book" / "_ext")}
    (folder / "_config.yml").write_text(yaml.safe_dump(settings), "utf-8")
    pages = [WITH_KERNEL.removesuffix(".html"), "book/coursework"]
    contents = {"format": "jb-book", "root": "book/intro", "chapters": [{"file": page} for page in pages]}
    (folder / "_toc.yml").write_text(yaml.safe_dump(contents), "utf-8")
    command = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(ROOT)]
    command += ["--config", str(folder / "_config.yml"), "--toc", str(folder / "_toc.yml")]
    command += ["--path-output", str(folder)]
    reply = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert reply.returncode == 0, (reply.stdout + reply.stderr)[-3000:]
    return folder / "_build" / "html"


def test_a_placeholder_is_never_linked(site):
    for path in [*CHAPTERS, "book/coursework.html"]:
        assert not [link for link in links(site / path) if OUTSIDE.search(link)], path
    assert kernel_note(site / WITH_KERNEL) == "how-to-run.html"


def test_every_button_of_a_published_page_leads_to_it(published):
    chapter = f"book/{Path(WITH_KERNEL).stem}.ipynb"
    found = {link for link in links(published / WITH_KERNEL) if OUTSIDE.search(link)}
    assert {link for link in found if not link.startswith(f"{REPOSITORY}/issues/new?")} == {
        BINDER + chapter,
        COLAB + chapter,
        REPOSITORY,
    }
    assert len(found) == 4
    assert kernel_note(published / WITH_KERNEL) == BINDER + chapter
    for path in (ROOT / "book" / "coursework").glob("*.ipynb"):
        here = links(published / "book" / "coursework.html")
        assert {f"{start}book/coursework/{path.name}" for start in (BINDER, COLAB)} <= here
