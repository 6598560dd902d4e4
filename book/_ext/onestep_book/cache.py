"""Run every chapter again when what the library computes changed, or the packages beneath it.

The notebook cache looks at a notebook's own cells only. Naming its folder after a hash of what the cells
import makes a stale output unreachable; the new name is a changed setting, so that Sphinx reads all pages
again by itself. Docstrings and comments do not enter: their edits rerun nothing.
"""

import ast
import hashlib
import json
import shutil
import sqlite3
import sys
from contextlib import closing
from importlib.metadata import requires, version
from pathlib import Path

from packaging.requirements import Requirement
from sphinx.application import Sphinx
from sphinx.config import Config

PACKAGE = "onestep_lib"
DATA = {".js", ".css", ".html", ".mplstyle", ".json", ".npz"}


def connect(app: Sphinx) -> None:
    app.connect("config-inited", use_cache_of_this_library)


def use_cache_of_this_library(app: Sphinx, config: Config) -> None:
    """Point the notebook cache to the folder for exactly this library."""
    config.nb_execution_cache_path = str(cache_of_this_library(Path(app.srcdir), Path(app.outdir).parent))


def cache_of_this_library(root: Path, build: Path) -> Path:
    """The folder of outputs made with exactly this library; older ones and torn ones are dropped."""
    caches = build / ".chapters"
    current = caches / library_hash(root / PACKAGE)
    for folder in caches.glob("*"):
        if folder != current or not is_sound(folder):
            shutil.rmtree(folder)
    return current


def library_hash(library: Path) -> str:
    """Hash of what the library computes, of its data, and of Python and the packages beneath it."""
    digest = hashlib.sha256(f"{sys.version};{versions()}".encode())
    for path in sorted(p for p in library.rglob("*") if p.suffix in DATA | {".py"}):
        digest.update(f"\0{path.relative_to(library).as_posix()}\0".encode())
        digest.update(code_alone(path).encode() if path.suffix == ".py" else path.read_bytes())
    return digest.hexdigest()[:16]


def versions() -> list[str]:
    """Version of every package that the library requires."""
    named = (Requirement(line) for line in requires(PACKAGE) or ())
    return sorted(f"{need.name}=={version(need.name)}" for need in named if need.marker is None)


def code_alone(path: Path) -> str:
    """What a module computes: its syntax tree without docstrings, comments and line numbers."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


def is_sound(folder: Path) -> bool:
    """False for a cache with a torn file, as a build that is stopped while it writes can leave behind."""
    try:
        with closing(sqlite3.connect(folder / "global.db")) as database:
            for (key,) in database.execute("SELECT hashkey FROM nbcache").fetchall():
                json.loads((folder / "executed" / key / "base.ipynb").read_text(encoding="utf-8"))
    except (OSError, ValueError, sqlite3.Error):
        return False
    return True
