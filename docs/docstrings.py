"""Docstrings as the site shows them: in Markdown the `>>>` of an example would be a quotation of a quotation of one."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object


def fenced(text: str) -> str:
    """The text with each example, up to the next empty line, as a block of code."""
    return re.sub(r"^>>> .*(?:\n.+)*", lambda found: f"```pycon\n{found[0]}\n```", text, flags=re.M)


class Examples(Extension):
    """What mkdocstrings asks about every object that it has read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
