"""Make the notebooks for JupyterLab, Binder and Colab from the chapters, without running or building them.

    python -m book._tools.notebooks                    in _build/notebooks/
    python -m book._tools.notebooks --branch <folder>  with all that Binder needs beside them, in a folder

A notebook that is newer than its chapter stays as it is: a reader may have written in it. The folder of
`--branch` is what the branch `notebooks` of the repository holds (.github/workflows/publish.yml), so that
main has each chapter once.
"""

import argparse
import re
import shutil
import sys
import warnings
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ("onestep_lib", ".binder", "pyproject.toml", "LICENSE", "CITATION.cff")
COURSEWORK = "book/coursework"
CACHED = shutil.ignore_patterns("__pycache__")
README = "Notebooks made from the main branch by the workflow `publish`, which writes them anew.\n"


def make(folder: Path, root: Path = ROOT) -> list[Path]:
    """Write the notebooks that are older than their chapters; those written."""
    if all(is_newer(folder / path.name, path) for path in (root / "book").glob("*.ipynb")):
        return []
    with TemporaryDirectory() as scratch:
        resolve(root, Path(scratch))
        written = []
        for made in sorted((Path(scratch) / "notebooks").glob("*.ipynb")):
            source = root / "book" / made.name.replace("-solutions.ipynb", ".ipynb")
            if not is_newer(folder / made.name, source):
                folder.mkdir(parents=True, exist_ok=True)
                written.append(Path(shutil.copyfile(made, folder / made.name)))
    shutil.copytree(root / COURSEWORK, folder / "coursework", dirs_exist_ok=True)
    return written


def is_newer(made: Path, source: Path) -> bool:
    return made.exists() and made.stat().st_mtime > source.stat().st_mtime


def resolve(root: Path, out: Path) -> None:
    """Let Sphinx number and resolve all pages; the book's extension writes the notebooks meanwhile."""
    from jupyter_book.config import get_final_config
    from sphinx.application import Sphinx

    cli = {"nb_execution_mode": "off", "latex_individualpages": False}
    config, _ = get_final_config(user_yaml=root / "_config.yml", cli_config=cli, sourcedir=root)
    config["exclude_patterns"] += ["book/api"]  # notebooks do not link to it
    # What would be a warning here is one of the build, which says so; deprecations are other packages'.
    with warnings.catch_warnings(action="ignore"):
        app = Sphinx(root, None, out, out / "doctrees", "notebooks", config, status=None, warning=StringIO())
        app.build()


def branch(folder: Path, root: Path = ROOT) -> None:
    """All of the branch that Binder and Colab open, with the versions of the lock."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in LIBRARY:
        copy = partial(shutil.copytree, ignore=CACHED) if (root / name).is_dir() else shutil.copyfile
        copy(root / name, folder / name)
    make(folder / "book", root)
    (folder / "README.md").write_text(README, "utf-8")
    lock = (root / "requirements.lock").read_text("utf-8")
    pins = re.findall(r"^[\w.-]+==[^\\\n]+", lock, re.MULTILINE)
    (folder / ".binder" / "constraints.txt").write_text("".join(f"{pin.strip()}\n" for pin in pins), "utf-8")
    wanted = folder / ".binder" / "requirements.txt"
    wanted.write_text("-c constraints.txt\n" + wanted.read_text("utf-8"), "utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Make the notebooks.")
    parser.add_argument("--branch", type=Path, help="an empty folder")
    found = parser.parse_args(arguments)
    if found.branch:
        branch(found.branch)
        return 0
    folder = ROOT / "_build" / "notebooks"
    print(f"{len(make(folder))} notebooks written in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
