"""The converted result of a check is used: what it accepted is computed with, not what was given."""

import ast
import inspect
from pathlib import Path

import pytest

import onestep_lib
from onestep_lib import _checks

# Checks that return nothing; every other one, here and in the modules, returns what to go on with.
_SILENT = {
    name
    for name, check in vars(_checks).items()
    if name.startswith("check_") and inspect.signature(check).return_annotation == "None"
}
# Checks that return what they were given, the same object.
_SAME = {"check_callable", "check_choice", "check_generator", "check_text"}
FILES = sorted(set(Path(onestep_lib.__file__).parent.rglob("*.py")) - {Path(_checks.__file__)})


def _name(call):
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _is_converting(node):
    if not isinstance(node, ast.Call):
        return False
    return _name(node).startswith(("check_", "as_floats")) and _name(node) not in _SILENT | _SAME


def _thrown_away(node):
    """Converting checks that are a statement, an argument of a silent check or part of a bare condition."""
    if isinstance(node, ast.Expr):
        return [node.value] if _is_converting(node.value) else []
    if isinstance(node, ast.Call) and _name(node) in _SILENT:
        return [argument for argument in node.args if _is_converting(argument)]
    if isinstance(node, ast.If | ast.While):
        kept = {id(walrus.value) for walrus in ast.walk(node.test) if isinstance(walrus, ast.NamedExpr)}
        return [part for part in ast.walk(node.test) if _is_converting(part) and id(part) not in kept]
    return []


def _used_unchecked(function):
    """Names that a converting check took and that are read afterwards as they were given."""
    found = []
    for statement in ast.walk(function):
        if not isinstance(statement, ast.stmt) or hasattr(statement, "body"):
            continue
        targets = {
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        for call in filter(_is_converting, ast.walk(statement)):
            if len(call.args) > 1 and isinstance(call.args[1], ast.Name) and call.args[1].id not in targets:
                found += _reads(function, call.args[1].id, statement.end_lineno)
    return found


def _reads(function, name, line):
    """Lines below `line` that read the name, messages of errors and further checks set aside."""
    aside = {
        id(inner)
        for node in ast.walk(function)
        if isinstance(node, ast.Raise | ast.JoinedStr) or _is_converting(node)
        for inner in ast.walk(node)
    }
    return [
        f"{name} (line {node.lineno})"
        for node in ast.walk(function)
        if isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and node.lineno > line
        and id(node) not in aside
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_result_of_a_check_is_used(path):
    tree = ast.parse(path.read_text())
    thrown = [f"{_name(call)} (line {call.lineno})" for node in ast.walk(tree) for call in _thrown_away(node)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert thrown + [read for function in functions for read in _used_unchecked(function)] == []
