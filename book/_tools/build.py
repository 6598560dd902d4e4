"""Build the site, so that the answer does not depend on what earlier builds left behind.

    python -m book._tools.build            what has changed
    python -m book._tools.build --whole    every page, unless the last good build did so and nothing changed

Sphinx remembers pages, not their warnings: it takes a page that failed for done, and does not see that
an unchanged page refers to a label that is gone from another. So its state is kept only after a build
without a warning, for as long as no file in it has changed, and `make test` starts from a whole build.
Executed chapters keep their outputs (see book/_ext/onestep_book/cache.py), so that a whole build is quick.
"""

import hashlib
import json
import shutil
import sys
from importlib.metadata import distributions
from pathlib import Path

from book._tools.chapters import run_chapters

ROOT = Path(__file__).resolve().parents[2]
# What Sphinx writes. Beside it stand the chapters' outputs and what other targets made: slides, and courses
# with a lecturer's grades, which no build may touch.
WRITTEN = ("_build/html", "_build/.doctrees", "_build/jupyter_execute")
RECORD = "last-good-build.json"
SOURCES = ("book", "onestep_lib", "_config.yml", "_toc.yml")
# Sphinx reads these once and does not ask whether they have changed.
FRAME = ("book/_ext", "book/_tools/build.py")


def main(arguments: list[str], root: Path = ROOT) -> int:
    build, whole = root / "_build", "--whole" in arguments
    found, last = state(root), read_record(build)
    todo = what_to_do(found, last, whole)
    if todo == "nothing":
        print("Nothing has changed since the last good build.")
        return 0
    (build / RECORD).unlink(missing_ok=True)
    if todo == "whole":
        remove_what_was_written(root)
    run_chapters(root)
    if not jupyter_book(root):
        print("The book is not built: the lines above say why. The next build reads every page again.")
        return 1
    write_record(build, state(root) | {"sources": found["sources"], "whole": todo == "whole"})
    return 0


def what_to_do(found: dict, last: dict, whole: bool) -> str:
    """'nothing', 'changes' or 'whole', from the files of now and of the last good build."""
    if any(found[part] != last.get(part) for part in ("frame", "built")):
        return "whole"
    if found["sources"] == last["sources"] and (last["whole"] or not whole):
        return "nothing"
    return "whole" if whole else "changes"


def state(root: Path) -> dict:
    """Hashes of what a build reads and of what it wrote."""
    versions = sorted(f"{d.name}=={d.version}" for d in distributions())
    return {
        "frame": [sys.version, versions, hashes(root, FRAME)],
        "sources": hashes(root, SOURCES),
        "built": hashes(root, WRITTEN),
    }


def hashes(root: Path, names: tuple[str, ...]) -> dict[str, str]:
    """SHA-256 of every file under `names`, without what Python, Jupyter and `make notebooks` leave there."""
    passed_over = {"__pycache__", ".ipynb_checkpoints", "notebooks"}
    paths = (
        p for name in names for p in ((root / name).rglob("*") if (root / name).is_dir() else [root / name])
    )
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(paths)
        if path.is_file() and passed_over.isdisjoint(path.relative_to(root).parts)
    }


def read_record(build: Path) -> dict:
    try:
        return json.loads((build / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def write_record(build: Path, record: dict) -> None:
    """Write the record whole or not at all."""
    unfinished = build / f".{RECORD}"
    unfinished.write_text(json.dumps(record), encoding="utf-8")
    unfinished.replace(build / RECORD)


def remove_what_was_written(root: Path) -> None:
    for name in WRITTEN:
        if (root / name).exists():
            shutil.rmtree(root / name)


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
    sys.exit(main(sys.argv[1:]))
