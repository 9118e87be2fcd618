"""Where results are to be written: looked at before the work, so that hours of it are not lost to a typing error."""

from __future__ import annotations

import os
from pathlib import Path

from resstream.errors import ResstreamError


def require_file(what: str, path: str | Path) -> Path:
    """A path at which a file can be written (anew, or over an old one); ResstreamError says why not."""
    path = Path(path)
    try:
        if path.is_dir():
            raise ResstreamError(f"{what} {path}: expected a file, and this is a directory")
        if path.exists() and not path.is_file():
            raise ResstreamError(f"{what} {path}: expected a file, and this is a device or a pipe")
        if path.is_symlink() and not path.exists():
            raise ResstreamError(f"{what} {path}: expected a file, and this is a link to nothing")
        if not path.parent.is_dir():
            raise ResstreamError(f"{what} {path}: expected a file in a directory that exists")
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise ResstreamError(f"{what} {path}: cannot be written to: permission denied")
    except ResstreamError:
        raise
    except (OSError, ValueError) as failure:
        raise unwritable(what, path, failure) from None
    return path


def require_directory(what: str, path: str | Path) -> Path:
    """A directory that files can be written to, or a path at which one can be made; ResstreamError says why not."""
    path = Path(path)
    try:
        there = path
        while not there.exists() and not there.is_symlink() and there != there.parent:
            there = there.parent
        if not there.is_dir():
            raise ResstreamError(f"{what} {path}: expected a directory, and {there} is a file")
        if not os.access(there, os.W_OK | os.X_OK):
            raise ResstreamError(f"{what} {path}: cannot be written to: permission denied")
    except ResstreamError:
        raise
    except (OSError, ValueError) as failure:
        raise unwritable(what, path, failure) from None
    return path


def unwritable(what: str, path: str | Path, failure: Exception) -> ResstreamError:
    """The error of ours that says why a path cannot be written to."""
    reason = failure.strerror if isinstance(failure, OSError) else str(failure)
    shown = str(path) if len(str(path)) <= 80 else f"{str(path)[:77]}..."
    return ResstreamError(f"{what} {shown}: cannot be written to: {reason}")
