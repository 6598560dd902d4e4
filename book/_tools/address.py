"""Set the public repository's address everywhere it must stand.

    python book/_tools/address.py https://github.com/<owner>/<name>

_config.yml decides; the first cell of each chapter (read by Colab before anything is installed) and
a few other files carry copies. This rewrites them together.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIES = ("_config.yml", "CITATION.cff", "README.md", "CONTRIBUTING.md", "book/**/*.md", "book/*.ipynb")


def configured(root: Path = ROOT) -> str:
    """The address that _config.yml holds."""
    text = (root / "_config.yml").read_text(encoding="utf-8")
    return re.search(r"^repository:\n  url: (\S+)$", text, re.MULTILINE)[1]


def replace(new: str, root: Path = ROOT) -> list[Path]:
    """Write `new` in place of the present address; the files that changed."""
    if not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", new) or new.endswith(".git"):
        raise ValueError(f"URL is {new!r}; it must look like https://github.com/<owner>/<name>")
    old, changed = configured(root), []
    for path in sorted({p for pattern in COPIES for p in root.glob(pattern)}):
        text = path.read_text(encoding="utf-8")
        if old in text:
            path.write_text(text.replace(old, new), encoding="utf-8")
            changed.append(path)
    return changed


if __name__ == "__main__":
    for changed_file in replace(sys.argv[1] if len(sys.argv) > 1 else ""):
        print(changed_file.relative_to(ROOT))
