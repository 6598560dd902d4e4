"""Run every chapter again when the library or the numerical packages change.

The notebook cache looks at a notebook's own cells only. Naming its folder after a hash of what the
cells import makes a stale cache unreachable; the new name is a changed setting, so that Sphinx reads
all pages again by itself.
"""

import hashlib
import shutil
from importlib.metadata import version
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

PACKAGES = ("numpy", "scipy", "matplotlib", "ipywidgets")
SUFFIXES = {".py", ".js", ".css", ".html", ".mplstyle", ".json", ".npz"}


def connect(app: Sphinx) -> None:
    app.connect("config-inited", use_cache_of_this_library)


def use_cache_of_this_library(app: Sphinx, config: Config) -> None:
    """Point the notebook cache to a folder for exactly this library; drop those of older ones."""
    caches = Path(app.outdir).parent / ".chapters"
    current = caches / library_hash(Path(app.srcdir) / "onestep_lib")
    for stale in caches.glob("*"):
        if stale != current:
            shutil.rmtree(stale)
    config.nb_execution_cache_path = str(current)


def library_hash(library: Path) -> str:
    """Hash of the library's files and of the versions of the packages beneath it."""
    digest = hashlib.sha256("".join(f"{p} {version(p)};" for p in PACKAGES).encode())
    for path in sorted(p for p in library.rglob("*") if p.suffix in SUFFIXES):
        digest.update(path.relative_to(library).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
