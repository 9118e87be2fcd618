"""Files that are given to read: regular ones, of a size that their kind can have, and nothing of them is executed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from resstream.errors import ResstreamError


def read_text(what: str, path: Path, largest: int, error: type[ResstreamError] = ResstreamError) -> str:
    """The text of a file of at most `largest` bytes in UTF-8; an `error` says what else there is.

    A device has no end, and a pipe may have none, so neither is read.
    """
    try:
        if not path.exists():
            reason = "no such file"
        elif not path.is_file():
            reason = "expected a file, and this is a directory, a device or a pipe"
        elif (size := path.stat().st_size) > largest:
            reason = f"{size:,} bytes, expected at most {largest:,}"
        else:
            return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as failure:
        reason = f"not text in UTF-8 ({failure.reason} at byte {failure.start})"
    except OSError as failure:
        reason = f"cannot be read: {failure.strerror}"
    except ValueError as failure:  # a zero byte in the path
        reason = f"cannot be read: {failure}"
    raise error(f"{what} {path}: {reason}".lstrip())


def parse_json(what: str, text: str, error: type[ResstreamError] = ResstreamError) -> Any:
    """What a JSON text says; an `error` where it is broken, nested too deep, or has a number of too many digits."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as failure:
        raise error(f"{what}: not JSON ({failure})") from None
