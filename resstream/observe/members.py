"""Data as a domain: what belongs to one head of one prompt, kept together, as members of a `Given`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from resstream.domains import Domain, Given, Matrix, RowStochastic
from resstream.errors import ResstreamError
from resstream.falsify.objects import fitted
from resstream.observe import sources
from resstream.observe.bind import NotApplicable, Site, object_of_a_head
from resstream.observe.sources.request import PromptText, Request

OBJECTS = ("A", "X", "S", "Q", "K", "V", "W_Q", "W_K", "W_V", "W_O", "W")
"""What a head has, as the library names it: its pattern, what it reads, its scores, queries, keys and values, its maps,
and its OV circuit.
"""


def given(
    source: Any,
    *names: str,
    prompts: Sequence[PromptText] = (),
    layers: Sequence[int] | None = None,
    tokenizer: Any = None,
) -> Given:
    """Every head of every prompt as a domain: tuples of its objects `names` (see `OBJECTS`), or the object of one name.

    Patterns are divided by their row sums exactly; everything else is the exact number that the model computed. Raises
    ResstreamError for unknown names, for what the source does not know, and for prompts of several lengths.

    >>> heads = given("shipped:two_layers", "A", "X", layers=[1])
    >>> len(heads.tables)
    6
    """
    if not names or not set(names) <= set(OBJECTS):
        raise ResstreamError(f"names: expected some of {', '.join(OBJECTS)}, got {list(names)}")
    seen = sources.see(source, Request(prompts, tokenizer))
    lengths = sorted({prompt.layers[0].pattern.shape[-1] for prompt in seen.prompts})
    if len(lengths) > 1:
        raise ResstreamError(f"prompts: expected prompts of one length, got {lengths} tokens")
    wanted = range(seen.layers) if layers is None else layers
    if not all(0 <= layer < seen.layers for layer in wanted):
        raise ResstreamError(f"layers: expected some of 0..{seen.layers - 1}, got {list(wanted)}")
    members = []
    for prompt in range(len(seen.prompts)):
        for layer in wanted:
            for head in range(seen.heads):
                try:
                    found = [object_of_a_head(name, Site(prompt, layer, head), seen) for name in names]
                except NotApplicable as reason:
                    raise ResstreamError(f"{seen.name}: {reason}") from None
                members.append(tuple(_exact(name, value) for name, value in zip(names, found, strict=True)))
    return Given(*(members if len(names) > 1 else (one[0] for one in members)))


def _exact(name: str, value: np.ndarray[Any, Any]) -> Any:
    domain: Domain = RowStochastic(*value.shape) if name == "A" else Matrix(*value.shape)
    return fitted(name, domain, value, value, {}, None).middle
