"""The checks of a test cell, each with its own verdict: the cell goes on after one has failed."""

import ast
import re
from dataclasses import dataclass, field

from book._tools import kernel


class Dead(Exception):
    """The process of a submission has ended, or was ended."""


@dataclass
class Verdict:
    """What a test cell found: for each of its checks 1, or 1/2 where the mistake was named, or 0."""

    lines: dict[int, float] = field(default_factory=dict)
    message: str = ""

    def share(self, full: "Verdict") -> float:
        return sum(self.lines.get(line, 0) for line in full.lines) / len(full.lines)

    def right(self, full: "Verdict") -> bool:
        return not self.message and self.share(full) == 1

    def check(self, line: int, passed: bool, message: str, known: bool = False) -> None:
        self.lines[line] = min(self.lines.get(line, 1), 1 if passed else known / 2)
        if not passed:
            self.message = self.message or message


class Recorded(ast.NodeTransformer):
    """Asserts and calls of `compare` that write down what they find and let the cell go on."""

    def __init__(self, after: int):
        self.after = after  # what stands above the hidden tests must hold for any of them to count

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        if node.lineno <= self.after:
            return node
        message = ast.unparse(node.msg) if node.msg else repr(ast.unparse(node.test))
        call = ast.parse(f"_assert({node.lineno}, 0, lambda: {message})").body[0]
        call.value.args[1] = node.test
        return call

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "compare":
            node.value.func.id = "_compare"
            node.value.args.insert(0, ast.Constant(node.lineno))
        return node


def check(source: str, space: dict) -> Verdict:
    """Run a test cell on the names of `space`."""
    verdict = Verdict()

    def passes(line: int, test: object, message) -> None:
        verdict.check(line, bool(test), "" if test else str(message()))

    def compares(line: int, title: str, *args, **named) -> None:
        suspects = args[3] if len(args) > 3 else named.get("suspects", ())
        try:
            space["compare"](title, *args, **named)
            verdict.check(line, True, "")
        except AssertionError as error:
            known = any(str(error) == f"{title}: {reason}" for reason, _ in suspects)
            verdict.check(line, False, str(error), known)

    after = source[: source.find("### BEGIN HIDDEN")].count("\n") if "### BEGIN HIDDEN" in source else 0
    tree = ast.fix_missing_locations(Recorded(after).visit(ast.parse(source)))
    try:
        exec(compile(tree, "<test>", "exec"), space | {"_assert": passes, "_compare": compares})
    except Dead:
        raise
    except Exception as error:  # an answer that cannot be called, or that is no number
        plain = str(error) if isinstance(error, AssertionError | RuntimeError) else kernel.told(error)
        plain = "this is not answered yet" if plain.startswith("NotImplementedError") else plain
        verdict.message = verdict.message or plain
    return verdict


def plain(source: str) -> str:
    """A cell without the commands of IPython."""
    return re.sub(r"^(\s*)%.*$", r"\1pass", source, flags=re.MULTILINE)


def defined(source: str) -> set[str]:
    """The names that an answer has to define."""
    tree = ast.parse(source)
    stored = {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return stored | {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
