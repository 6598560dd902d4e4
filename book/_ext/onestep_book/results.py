"""The page of results, made from `book/results.yml`: each result a section, numbered in the table's order.

What a field holds stands at the head of the table. `res-<id>` in its text becomes a link with the result's
number, and a deviation is read from `tests/DEVIATIONS.md`.
"""

import json
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import yaml
from sphinx.application import Sphinx

EQUATION = re.compile(r"^\$\$ \((eq-[\w-]+)\)", re.MULTILINE)
DEVIATION = re.compile(
    r"^\| `(?:\w+\.)+(\w+)` \| (.+?) \| ([^|]+) \| ([^|]+) \|(?: ([^|]+) \|)?$", re.MULTILINE
)


def connect(app: Sphinx) -> None:
    app.connect("source-read", write)
    app.connect("autodoc-process-docstring", link_back)


def write(app: Sphinx, docname: str, source: list[str]) -> None:
    if docname == "book/results":
        root = Path(app.srcdir)
        for file in ("book/results.yml", "tests/DEVIATIONS.md"):
            app.env.note_dependency(str(root / file))
        source[0] += page(groups(root), deviations(root)) + equations(groups(root), root)


@cache
def groups(root: Path) -> dict[str, list[dict]]:
    return yaml.safe_load((root / "book/results.yml").read_text("utf-8"))


def deviations(root: Path) -> dict[str, str]:
    """What is said of "function: route", the function without its module."""
    rows = DEVIATION.findall((root / "tests/DEVIATIONS.md").read_text("utf-8"))
    return {
        f"{name}: {route}": f"rms z {b.strip()}, at most {c} of {a}" if c else f"at most {a.strip()}"
        for name, route, a, b, c in rows
    }


def page(table: dict[str, list[dict]], off: dict[str, str]) -> str:
    numbers = {row["id"]: k for k, row in enumerate((r for rows in table.values() for r in rows), 1)}
    text = "".join(
        f"\n## {group}\n" + "".join(section(row, numbers[row["id"]], off) for row in rows)
        for group, rows in table.items()
    )
    links = {key: f"{{ref}}`result {number} <res-{key}>`" for key, number in numbers.items()}
    return re.sub(r"(?<![(<])\bres-([a-z-]+)", lambda found: links[found[1]], text)


def equations(table: dict[str, list[dict]], root: Path) -> str:
    """Every numbered equation of the chapters, with the results that state it."""
    stated: dict[str, list[str]] = {}
    for row in (row for rows in table.values() for row in rows):
        for label in row.get("equation", ()):
            stated.setdefault(label, []).append(f"{{ref}}`{row['id']} <res-{row['id']}>`")
    text = "\n## Every numbered equation\n\nAn equation without a result defines something, or is a step.\n"
    for path in sorted((root / "book").glob("[0-9][0-9]-*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        labels = EQUATION.findall(
            "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
        )
        told = [f"{{eq}}`{x}`" + (f": {', '.join(stated[x])}" if x in stated else "") for x in labels]
        text += f"\n* [Chapter {int(path.stem[:2])}]({path.name}). {' · '.join(told)}\n"
    return text


def link_back(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """A function's page names the results that it computes, with the tests."""
    for row in (row for rows in groups(Path(app.srcdir)).values() for row in rows):
        if any(f"onestep_lib.{function}" == name for function in row["function"]):
            tests = ", ".join(f"``{test}``" for test in row["test"])
            lines += ["", f"*Result*: :ref:`{row['title']} <res-{row['id']}>`, tested by {tests}.", ""]


def section(row: dict, number: int, off: dict[str, str]) -> str:
    where = [f"{{eq}}`{label}`" for label in row.get("equation", ())]
    where += [*map(link, row["function"]), *(f"`{test}`" for test in row["test"])]
    parts = [
        f"(res-{row['id']})=\n### Result {number}. {row['title']}",
        f"**{row['status'].capitalize()}**: {row['known']}.",
        f"**Needs**: {row['needs']}",
        row["says"],
        f":::{{dropdown}} Proof\n{row['proof'].strip()}\n:::" if "proof" in row else "",
        row.get("beyond", ""),
        f"In the sources: {row['source']}." if "source" in row else "",
        " · ".join(where),
        "\n".join(f"* {key}: {off[key]}" for key in row.get("deviation", ())),
    ]
    return "\n" + "\n\n".join(part.strip() for part in parts if part) + "\n"


def link(name: str) -> str:
    """A function's name, which leads to its page if it is public."""
    module, _, function = name.rpartition(".")
    home = import_module(f"onestep_lib.{module}")
    public = getattr(home, "__all__", None) or dir(home)
    return f"{{py:obj}}`~onestep_lib.{name}`" if function in public else f"`{name}`"
