"""What a cell tells, compared with what is stored of it: the same words, and the same numbers but for a tie.

A processor or a library that sums in another order moves the last bits of a number, and 2.125 is printed as
2.12 on one machine and as 2.13 on another. So a number may differ by one unit of its last printed digit; what
is printed without a point is a count and may not.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from decimal import Decimal

from nbformat import NotebookNode

NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)", re.IGNORECASE)


def differences(stored: Iterable[NotebookNode], found: Iterable[NotebookNode]) -> list[str]:
    """What a cell told when it was stored and tells no more, by stream and by type of its results."""
    before, now = told(stored), told(found)
    return [
        f"{kind}: {before[kind]!r} became {now[kind]!r}"
        for kind in sorted({*before, *now})
        if not alike(before[kind], now[kind])
    ]


def told(outputs: Iterable[NotebookNode]) -> dict[str, str]:
    """What a cell prints and shows, however it was chopped: a text by stream or type, without pictures."""
    said: dict[str, str] = defaultdict(str)
    for output in outputs:
        if output.output_type == "stream":
            said[output.name] += output.text
        for kind, content in output.get("data", {}).items():
            if not kind.startswith("image/"):
                said[kind] += f"{content}\n"
    return said


def alike(stored: str, found: str) -> bool:
    """Whether two texts have the same words, and numbers within one unit of their last digit."""
    (words, numbers), (words_now, numbers_now) = split(stored), split(found)
    return words == words_now and all(map(close, numbers, numbers_now))


def split(text: str) -> tuple[list[list[str]], list[str]]:
    """The words between a text's numbers, without their spaces, and the numbers; nan and inf are words."""
    pieces = NUMBER.split(text.replace("−", "-"))
    return [piece.split() for piece in pieces[::2]], pieces[1::2]


def close(one: str, other: str) -> bool:
    """Whether two numbers are one unit apart at most, in the finer of their last digits."""
    if not re.search(r"[.e]", one + other, re.IGNORECASE):
        return int(one) == int(other)
    first, second = Decimal(one), Decimal(other)
    unit = Decimal(1).scaleb(min(int(x.as_tuple().exponent) for x in (first, second)))
    return abs(first - second) <= unit
