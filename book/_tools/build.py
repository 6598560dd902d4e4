"""Build the site: every page, from the kept outputs of the chapters, unless nothing has changed.

    python -m book._tools.build

Sphinx remembers pages and not their warnings, and does not see that an unchanged page refers to a label that
is gone from another, so that it starts anew. Executed chapters keep their outputs
(book/_ext/onestep_book/cache.py).
"""

import hashlib
import shutil
import sys
from importlib.metadata import distributions
from pathlib import Path

from book._tools.chapters import run_chapters

ROOT = Path(__file__).resolve().parents[2]
# What Sphinx writes. Beside it stand the chapters' outputs and what other targets made: slides, and courses
# with a lecturer's grades, which no build may touch.
WRITTEN = ("_build/html", "_build/.doctrees", "_build/jupyter_execute")
SOURCES = ("book", "onestep_lib", "tests/DEVIATIONS.md", "_config.yml", "_toc.yml", "package-lock.json")
RECORD = "_build/last-good-build"


def main(root: Path = ROOT) -> int:
    record, found, used = root / RECORD, state(root, SOURCES), packages()
    # A build that is stopped while it writes its record can leave an empty one.
    then = (record.read_text() if record.is_file() else "").splitlines() or [""]
    # What was installed since, as the tests need it, changes no page.
    if then[0] == found + state(root, WRITTEN) and set(then[1:]) <= set(used):
        print("Nothing has changed since the last good build.")
        return 0
    record.unlink(missing_ok=True)
    for name in WRITTEN:
        shutil.rmtree(root / name, ignore_errors=True)
    run_chapters(root)
    if not jupyter_book(root):
        print("The book is not built: the lines above say why.")
        return 1
    record.write_text("\n".join([found + state(root, WRITTEN), *used]))
    return 0


def packages() -> list[str]:
    """Python and the packages in use, with their versions."""
    return [sys.version.replace("\n", " "), *sorted({f"{d.name}=={d.version}" for d in distributions()})]


def state(root: Path, names: tuple[str, ...]) -> str:
    """A hash of all files under `names` but what Python and Jupyter leave."""
    digest = hashlib.sha256()
    for top in (root / name for name in names):
        for path in sorted(top.rglob("*") if top.is_dir() else [top]):
            if path.is_file() and not {"__pycache__", ".ipynb_checkpoints"} & set(path.parts):
                digest.update(f"\0{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def jupyter_book(root: Path) -> bool:
    """Build; True if there was no error and no warning."""
    # The grammar of one format that no schema here asks for: two seconds of every build.
    sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]
    from jupyter_book.cli.main import main as command

    try:
        command(["build", str(root), "-W", "--keep-going", "-n"], standalone_mode=False)
    except SystemExit as end:  # warnings
        return not end.code
    except Exception as error:
        print(error, file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
