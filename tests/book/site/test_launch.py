"""Launch buttons: hidden while the repository's address is a placeholder, right once it is set.

What needs the whole site built a second time, with an address, is left to `make check`.
"""

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


def links(page: Path) -> list[str]:
    return [unescape(link) for link in re.findall(r'href="([^"]+)"', page.read_text("utf-8"))]


@pytest.fixture(scope="session")
def published(site, tmp_path_factory) -> Path:
    """The site built again with an address; the chapters' outputs come from the first build's cache."""
    folder = tmp_path_factory.mktemp("published")
    shutil.copytree(SITE.parent / ".chapters", folder / "_build" / ".chapters")
    settings = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    settings["repository"]["url"] = REPOSITORY
    settings["sphinx"]["local_extensions"] = {"onestep_book": str(ROOT / "book" / "_ext")}
    (folder / "_config.yml").write_text(yaml.safe_dump(settings), "utf-8")
    command = [str(Path(sys.executable).parent / "jupyter-book"), "build", str(ROOT), "-W", "-n"]
    command += ["--config", str(folder / "_config.yml"), "--path-output", str(folder)]
    reply = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert reply.returncode == 0, (reply.stdout + reply.stderr)[-3000:]
    return folder / "_build" / "html"


@pytest.mark.parametrize("path", CHAPTERS)
def test_a_placeholder_is_never_linked(site, path):
    text = (site / path).read_text("utf-8")
    assert not [x for x in links(site / path) if re.search(r"your-account|mybinder|colab", x)]
    assert '<span class="onestep-binder"' not in text


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS)
def test_every_button_of_a_published_chapter_leads_to_it(published, path):
    found = links(published / path)
    notebook = f"book/{Path(path).stem}.ipynb"
    binder = f"https://mybinder.org/v2/gh/some-lab/one-step/notebooks?urlpath=lab/tree/{notebook}"
    colab = f"https://colab.research.google.com/github/some-lab/one-step/blob/notebooks/{notebook}"
    assert binder in found
    assert colab in found
    assert REPOSITORY in found
    assert any(link.startswith(f"{REPOSITORY}/issues/new?") for link in found)
    outside = {x for x in found if re.search(r"mybinder|colab\.research|github\.com", x)}
    outside -= {binder, colab, REPOSITORY}
    assert not [
        x
        for x in outside
        if not x.startswith((f"{REPOSITORY}/issues/new?", "https://github.com/executablebooks"))
    ]


@pytest.mark.slow
def test_notes_on_what_needs_a_kernel_lead_to_the_chapter(site, published):
    pages = [p for p in CHAPTERS if 'class="onestep-binder"' in (site / p).read_text("utf-8")]
    assert pages, "chapters 3 and 4 hold a panel that needs a kernel"
    for path in pages:
        note = re.search(r'<a class="onestep-binder" href="([^"]+)">', (published / path).read_text("utf-8"))
        assert note[1].endswith(f"urlpath=lab/tree/book/{Path(path).stem}.ipynb")
        local = re.search(r'<a class="onestep-binder" href="([^"]+)">', (site / path).read_text("utf-8"))
        assert local[1] == "how-to-run.html"


@pytest.mark.slow
def test_assignments_open_in_binder_and_colab(site, published):
    page = Path("book") / "coursework.html"
    assert not [x for x in links(site / page) if re.search(r"your-account|mybinder|colab", x)]
    here = [x for x in links(published / page) if "coursework" in x and "://" in x]
    for path in sorted((ROOT / "book" / "coursework").glob("*.ipynb")):
        source = f"book/coursework/{path.name}"
        assert f"https://mybinder.org/v2/gh/some-lab/one-step/notebooks?urlpath=lab/tree/{source}" in here
        assert f"https://colab.research.google.com/github/some-lab/one-step/blob/notebooks/{source}" in here
