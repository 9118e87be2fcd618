"""What somebody wants a model to be looked at on: prompts as texts or token numbers, and who tokenizes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from resstream.errors import ResstreamError
from resstream.given import parse_json, read_text
from resstream.observe.seen import Activations, Prompt, of_trace, weights_of
from resstream.observe.sources.model import Model, Tokenizer

PromptText = str | Sequence[int]

TEXTS = (
    "The residual stream is a running sum: every layer reads it, computes something, and adds its result back.",
    "Attention moves information between positions, while the feed-forward layers work on each position alone; "
    "without the skip connections all tokens would become alike after a few layers.",
    "When Mary and John went to the store, John gave a drink to",
)
"""Looked at where no prompts are given."""

LARGEST_PROMPTS = 64 * 2**20
"""Bytes of a file of prompts."""

LONGEST = 2048
"""Tokens of a prompt, beyond which patterns would fill the memory."""


@dataclass(frozen=True)
class Request:
    """Prompts (the built-in ones if there are none), a tokenizer of one's own, and who is told how far it is."""

    prompts: Sequence[PromptText] = ()
    tokenizer: Any = None
    progress: Callable[[str, float], None] = field(default=lambda _what, _share: None)

    def tokens(self, tokenize: Tokenizer | None, defaults: Sequence[PromptText] = TEXTS) -> list[tuple[Any, list[str]]]:
        """Token numbers (n,) and their texts, for each prompt; raises ResstreamError for what cannot be tokens."""
        if isinstance(self.prompts, str) or not isinstance(self.prompts, Sequence):
            raise ResstreamError(f"prompts: expected a list of texts or of token numbers, got {self.prompts!r:.40}")
        if self.tokenizer is not None:
            tokenize = wrapped(self.tokenizer)
        return [_tokens(number, prompt, tokenize) for number, prompt in enumerate(self.prompts or defaults)]


def _tokens(number: int, prompt: PromptText, tokenize: Tokenizer | None) -> tuple[Any, list[str]]:
    if isinstance(prompt, str):
        if tokenize is None:
            raise ResstreamError(
                f"prompt {number}: a text, and this model came without a tokenizer: give token numbers (in a file, "
                "[[5, 9, 2]]), or tokenizer="
            )
        ids, texts = tokenize(prompt)
    else:
        ids, texts = list(prompt), [str(token) for token in prompt]
    if not all(isinstance(token, int | np.integer) for token in ids):
        raise ResstreamError(f"prompt {number}: expected a text or whole numbers, got {prompt!r:.60}")
    if not 1 <= len(ids) <= LONGEST:
        raise ResstreamError(f"prompt {number}: expected 1 to {LONGEST} tokens, got {len(ids)}")
    return np.array(ids, dtype=np.int64), texts


def wrapped(tokenizer: Any) -> Tokenizer:
    """A tokenizer of `transformers`, or a function that gives token numbers, as ours."""

    def tokenize(text: str) -> tuple[list[int], list[str]]:
        found = tokenizer(text)
        ids = [int(token) for token in (found["input_ids"] if hasattr(found, "keys") else found)]
        named = getattr(tokenizer, "convert_ids_to_tokens", None)
        return ids, [str(token) for token in (named(ids) if named else ids)]

    return tokenize


def read_prompts(path: Path) -> list[PromptText]:
    """Prompts of a file: a JSON list of texts and of lists of token numbers, or else one text a line."""
    text = read_text("--prompts", path, LARGEST_PROMPTS)
    if not text.lstrip().startswith("["):
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines:
            raise ResstreamError(f"--prompts {path}: expected at least one line of text")
        return list(lines)
    found = parse_json(f"--prompts {path}", text)
    good = all(
        isinstance(one, str) or (isinstance(one, list) and one and all(type(token) is int for token in one))
        for one in found
    )
    if not found or not good:
        raise ResstreamError(f"--prompts {path}: expected a list of texts and of lists of token numbers")
    return list(found)


def run(model: Model, request: Request, source: str, defaults: Sequence[PromptText] = TEXTS) -> Activations:
    """Our own forward pass on every prompt."""
    prompts: list[Prompt] = []
    wanted = request.tokens(model.tokenize, defaults)
    for number, (tokens, texts) in enumerate(wanted):
        request.progress(f"forward pass, prompt {number}", number / len(wanted))
        prompts.append(of_trace(model.transformer.forward(tokens), texts))
    return Activations(model.name, source, prompts, weights_of(model.transformer), model.transformer)
