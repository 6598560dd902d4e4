"""Run every chapter again when what the library computes changed, or the packages beneath it.

The notebook cache looks at a notebook's own cells only. Naming its folder after a hash of what the cells
import makes a stale output unreachable; the new name is a changed setting, so that Sphinx reads all pages
again by itself. Docstrings and comments do not enter: their edits rerun nothing.
"""

import ast
import hashlib
import shutil
import sys
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
    """The folder of outputs made with exactly this library; older ones are dropped."""
    caches = build / ".chapters"
    current = caches / library_hash(root / PACKAGE)
    for folder in caches.glob("*"):
        if folder != current:
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


class WithoutDocstrings(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) else node


def code_alone(path: Path) -> str:
    """What a module computes: its syntax tree without docstrings, comments and line numbers."""
    return ast.dump(WithoutDocstrings().visit(ast.parse(path.read_text(encoding="utf-8"), str(path))))
