"""Copy the notebooks that a build made from the chapters to book/notebooks/, which Binder and Colab open.

    python -m book._tools.notebooks

They are written anew by every build (book/_ext/onestep_book/notebooks.py) and never edited by hand; a test
fails while the copies and the build differ.
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MADE = Path("_build") / "html" / "_notebooks"
COPIES = "book/notebooks"


def main(root: Path = ROOT) -> int:
    made = sorted((root / MADE).glob("*.ipynb"))
    if not made:
        print(f"{MADE} holds no notebook: run `make book` first.", file=sys.stderr)
        return 1
    shutil.rmtree(root / COPIES, ignore_errors=True)
    (root / COPIES).mkdir()
    for path in made:
        shutil.copyfile(path, root / COPIES / path.name)
    print(f"{len(made)} notebooks stand in {COPIES}/.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
