"""Set the public repository's address everywhere it must stand.

    ONESTEP_URL=https://github.com/<owner>/<name> python book/_tools/address.py

_config.yml decides; the first cell of each chapter (read by Colab before anything is installed) and
a few other files carry copies. This rewrites them together.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What the host allows: words joined by single hyphens; letters, digits and . _ -, not signs alone.
OWNER = r"(?=.{1,39}/)[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"
NAME = r"(?=.*[A-Za-z0-9])[A-Za-z0-9._-]{1,100}(?<!\.git)(?<!\.wiki)"
COPIES = ("_config.yml", "CITATION.cff", "README.md", "CONTRIBUTING.md", "book/**/*.md")
COPIES += ("book/*.ipynb", "book/assignments/*.ipynb", "book/coursework/*.ipynb")


def configured(root: Path = ROOT) -> str:
    """The address that _config.yml holds."""
    text = (root / "_config.yml").read_text(encoding="utf-8")
    return re.search(r"^repository:\n  url: (\S+)$", text, re.MULTILINE)[1]


def replace(new: str, root: Path = ROOT) -> list[Path]:
    """Write `new` in place of the present address; the files that changed."""
    if not re.fullmatch(rf"https://github\.com/{OWNER}/{NAME}", new):
        raise ValueError(f"URL is {new!r}; it must look like https://github.com/<owner>/<name>")
    old, changed = configured(root), []
    for path in sorted({p for pattern in COPIES for p in root.glob(pattern)}):
        text = path.read_text(encoding="utf-8")
        if old in text:
            path.write_text(text.replace(old, new), encoding="utf-8")
            changed.append(path)
    return changed


if __name__ == "__main__":
    try:
        for changed_file in replace(os.environ.get("ONESTEP_URL", "")):
            print(changed_file.relative_to(ROOT))
    except ValueError as error:
        sys.exit(str(error))
