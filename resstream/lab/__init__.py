"""The laboratory: pages to look at and to share, made of the library and of its trained model.

In a notebook, `cloud(X).value` is the tokens as they were dragged.
"""

from typing import Any

__all__ = ["cloud"]


def cloud(X: Any = None, **settings: Any) -> Any:
    """The laboratory's cloud as a widget, whose `value` is its tokens (n, 2): see `resstream.lab.notebook.cloud`.

    >>> cloud([[0.0, 0.0], [0.5, 1.0]]).value.tolist()
    [[0.0, 0.0], [0.5, 1.0]]
    """
    from resstream.lab import notebook  # which loads the library: a command line that names this room need not

    return notebook.cloud(X, **settings)
