"""Text that becomes a syntax tree, within bounds, and the error that shows a place in it."""

from __future__ import annotations

import ast

from resstream.errors import ClaimError

LONGEST = 1000
"""Characters of an expression."""

DEEPEST = 40
"""Nesting of an expression."""


class ExpressionError(ClaimError):
    """An expression is refused; the message shows the place with a caret."""

    def __init__(self, what: str, text: str, place: ast.AST | int, message: str) -> None:
        column = place if isinstance(place, int) else getattr(place, "col_offset", 0)
        column = min(len(text.encode()[:column].decode(errors="ignore")), len(text))
        start = max(0, column - 60)
        shown = text[start : column + 60].replace("\n", " ")
        super().__init__(f"{what}, column {column + 1}: {message}\n  {shown}\n  {' ' * (column - start)}^")


def parse(text: str, what: str) -> ast.expr:
    """The syntax tree of one expression of bounded length and depth."""
    if len(text) > LONGEST:
        raise ExpressionError(what, text[:60], 0, f"{len(text)} characters, expected at most {LONGEST}")
    if "\n" in text or "\0" in text:
        raise ExpressionError(what, text.replace("\0", " "), 0, "expected a single line of text")
    depth = deepest = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise ExpressionError(what, text, 0, f"brackets {deepest} deep, expected at most {DEEPEST}")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError as failure:
        column = max((failure.offset or 1) - 1, 0)
        raise ExpressionError(what, text.strip(), column, f"not an expression ({failure.msg})") from None
    except (ValueError, RecursionError, MemoryError) as failure:
        raise ExpressionError(what, text.strip(), 0, f"not an expression ({failure})") from None


__all__ = ["DEEPEST", "LONGEST", "ExpressionError", "parse"]
