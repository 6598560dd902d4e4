"""The house: folders in the order of the book, no import of what stands above, one word for one thing."""

import ast
import importlib
import json
import pkgutil
import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import onestep_lib

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "onestep_lib"
# From the ground up; modules that stand directly in the library are the ground.
FLOORS = ("", "no_step", "small_step", "spiked_features", "large_step", "experiment", "figures", "beyond")
THEORY = FLOORS[1:5]
MODULES = sorted(path for path in LIBRARY.rglob("*.py") if path.name not in ("__init__.py", "__main__.py"))
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def floor_of(module: str) -> int:
    return FLOORS.index(module.split(".")[1] if module.count(".") == 2 else "")


def imported(path: Path) -> set[str]:
    """The library's modules that a file imports, at its top or inside a function."""
    found = set()
    names = {name_of(other) for other in MODULES}
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: relative import"
            names_of = {f"{node.module}.{alias.name}" for alias in node.names}
            # What the library itself hands out stands above every room.
            assert node.module != "onestep_lib" or names_of <= names, f"{path.name}: {names_of}"
            found |= {node.module, *names_of}
    return found & names


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_imports_nothing_above_it(path):
    own = floor_of(name_of(path))
    assert not {name for name in imported(path) if floor_of(name) > own}


def test_theory_never_imports_the_experiment_or_the_figures():
    theory = [path for path in MODULES if name_of(path).split(".")[1] in THEORY]
    assert len(theory) > 15
    for path in theory:
        assert not re.search(r"onestep_lib\.(experiment|figures)\b.* import", path.read_text("utf-8")), path


def test_modules_import_each_other_in_no_circle():
    order = TopologicalSorter({name_of(path): imported(path) for path in MODULES})
    assert len(list(order.static_order())) == len(MODULES)


def test_the_spine_is_one_import():
    from onestep_lib import Setting, giant_step, one_step, random_features, simulate, staircase

    assert all(callable(f) for f in (Setting, giant_step, one_step, random_features, simulate, staircase))


@pytest.mark.parametrize("folder", FLOORS[1:])
def test_a_folder_hands_out_its_names_and_none_is_a_module(folder):
    package = importlib.import_module(f"onestep_lib.{folder}")
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"onestep_lib.{folder}.{info.name}")
        for name in getattr(module, "__all__", ()):
            assert getattr(package, name) is getattr(module, name), "a name would hide its module"


def test_no_two_modules_define_the_same_public_name():
    homes = Counter()
    for info in pkgutil.walk_packages(onestep_lib.__path__, "onestep_lib."):
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            if getattr(getattr(module, name), "__module__", None) == info.name:
                homes[name] += 1
    assert not {name: count for name, count in homes.items() if count > 1}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_cell_of_a_chapter_imports_once_from_a_folder(path):
    # Names are imported where they are first used, from the folder that hands them out; what only asserts is
    # no reader's.
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code" and "asserts" not in cell["metadata"].get("tags", ()):
            require_one_import("".join(cell["source"]))


def require_one_import(code):
    sources = re.findall(r"^\s*from (onestep_lib\S*) import", code, re.MULTILINE)
    folders = [source for source in sources if source.split(".")[1:2] and source.split(".")[1] in FLOORS[1:]]
    assert all(source.count(".") == 1 for source in folders), folders
    assert len(folders) == len(set(folders)), folders


def test_no_function_is_written_in_three_chapters():
    homes = {}
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                for function in functions("".join(cell["source"])):
                    homes.setdefault(body_of(function), set()).add((path.stem, function.name))
    often = [names for names in homes.values() if len({stem for stem, _ in names}) > 2]
    assert not often, f"the library is their home: {often}"


def functions(code: str) -> list[ast.FunctionDef]:
    plain = re.sub(r"^(\s*)%.*$", r"\1pass", code, flags=re.MULTILINE)
    return [node for node in ast.walk(ast.parse(plain)) if isinstance(node, ast.FunctionDef)]


def body_of(function: ast.FunctionDef) -> str:
    """What a function does, whatever it and its variables are called and its docstring says."""
    names = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            node.id = names.setdefault(node.id, str(len(names)))
        elif isinstance(node, ast.arg):
            node.arg = names.setdefault(node.arg, str(len(names)))
    said = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return " ".join(map(ast.dump, [function.args, *said]))


def test_a_function_is_known_by_what_it_does():
    one, same, other = functions(
        'def f(x):\n    "Half."\n    return x / 2\ndef g(y):\n    return y / 2\ndef h(y):\n    return y / 3'
    )
    assert body_of(one) == body_of(same) != body_of(other)
