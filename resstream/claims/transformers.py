"""Whole transformers: changes of their weights that leave what they say, and decompositions that sum."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resstream.arithmetic import mean
from resstream.claim import claim, equal
from resstream.claims.sources import FRAMEWORK, PAGE
from resstream.domains import Domain, Part, Size, Tokens, size_of
from resstream.reference.decomposition import (
    LAYER as BY_LAYER,
)
from resstream.reference.decomposition import (
    attribution_by_head,
    logit_lens_increments,
    path_expansion,
    stream_sum,
)
from resstream.reference.folding import centre_unembedding, centre_writing_weights, fold_norms, fold_value_biases
from resstream.reference.positions import ADJACENT, HALVES, RotaryPositions, halves_to_adjacent
from resstream.reference.transformer import (
    LAYER,
    POST,
    PRE,
    RMS,
    AttentionLayer,
    FeedForward,
    NormLayer,
    Transformer,
    TransformerBlock,
)


@dataclass(frozen=True)
class Transformers(Domain):
    """Transformers with any weights, gains and biases, and epsilon 1, which keeps the norm of a constant row defined.

    layout: "pre", "post" or "parallel". kind: "layer" or "rms". gated: whether MLPs have a gate. shared: whether one
    key head serves all. rotary: the pair convention of rotary positions of the whole head, or None.
    """

    layers: Size
    heads: Size
    width: Size
    head_width: Size
    hidden: Size
    vocabulary: Size
    layout: str = PRE
    kind: str = LAYER
    activation: str = "relu"
    gated: bool = False
    shared: bool = False
    rotary: str | None = None

    def _shapes(self, sizes: Any) -> dict[str, tuple[int, ...]]:
        names = (self.layers, self.heads, self.width, self.head_width, self.hidden, self.vocabulary)
        layers, heads, d, h, w, symbols = (size_of(size, sizes) for size in names)
        groups = 1 if self.shared else heads
        of_layer = {
            "W_Q": (heads, d, h), "W_K": (groups, d, h), "W_V": (groups, d, h), "W_O": (heads, h, d),
            "b_Q": (heads, 1, h), "b_K": (groups, 1, h), "b_V": (groups, 1, h), "b_O": (1, d),
            "W_in": (d, w), "b_in": (1, w), "W_out": (w, d), "b_out": (1, d), "gains": (2, d), "biases": (2, d),
        }  # fmt: skip
        if self.gated:
            of_layer |= {"W_gate": (d, w), "b_gate": (1, w)}
        whole = {"embedding": (symbols, d), "unembedding": (d, symbols), "output_bias": (1, symbols)}
        final = {} if self.layout == POST else {"final_gain": (1, d), "final_bias": (1, d)}
        return whole | final | {name: (layers, *shape) for name, shape in of_layer.items()}

    def parts(self, sizes: Any, options: Any) -> dict[str, Part]:
        return {name: Part(shape) for name, shape in self._shapes(sizes).items()}

    def build(self, raw: Any, options: Any, sizes: Any) -> Transformer:
        def norm(gain: Any, bias: Any) -> NormLayer:
            return NormLayer(self.kind, gain, bias, 1)

        def block(layer: int) -> TransformerBlock:
            def of(name: str, axes: int = 3) -> Any:
                return np.take(raw[name], layer, axis=-axes - 1)

            of_heads = {name: of(name) for name in ("W_Q", "W_K", "W_V", "W_O", "b_Q", "b_K", "b_V")}
            attention = AttentionLayer(**of_heads, b_O=of("b_O", 2))
            gate = {name: of(name, 2) for name in ("W_gate", "b_gate") if self.gated}
            mlp = FeedForward(of("W_in", 2), of("W_out", 2), self.activation, of("b_in", 2), of("b_out", 2), **gate)
            gains, biases = of("gains", 2), of("biases", 2)
            first, second = (norm(gains[..., k : k + 1, :], biases[..., k : k + 1, :]) for k in range(2))
            return TransformerBlock(attention, mlp, first, second, self.layout)

        width = size_of(self.head_width, sizes)
        return Transformer(
            raw["embedding"],
            [block(layer) for layer in range(size_of(self.layers, sizes))],
            None if self.layout == POST else norm(raw["final_gain"], raw["final_bias"]),
            raw["unembedding"],
            raw["output_bias"],
            rotary=RotaryPositions(width, pairs=self.rotary) if self.rotary else None,
        )


def _models(**changes: Any) -> dict[str, Domain]:
    return {"model": Transformers("L", "H", "d", "h", "w", "V", **changes), "tokens": Tokens("n", "V")}


SIZES = {
    "L": range(1, 2), "H": range(1, 3), "d": range(2, 4), "h": range(1, 3), "w": range(1, 3), "V": range(2, 4),
    "n": range(1, 4),
}  # fmt: skip
EVEN = {**SIZES, "h": range(2, 3)}
LENS = "TransformerLens, process_weights"


def _run(model: Transformer, tokens: Any) -> Any:
    return model.run(model.placed(tokens @ model.embedding))


def _logits(model: Transformer, tokens: Any) -> Any:
    return _run(model, tokens).logits


# ---- the same logits from other weights -------------------------------------


@claim("transformer.folded_norms", over=_models(), sizes=SIZES, source=f"{LENS}; {FRAMEWORK}, appendix")
def transformer_folded_norms(model, tokens):
    """Gains and biases of LayerNorm folded into the maps that read it leave the logits as they are."""
    return equal(_logits(fold_norms(model), tokens), _logits(model, tokens))


@claim(
    "transformer.folded_rms_norms",
    over=_models(kind=RMS, gated=True, shared=True),
    sizes=SIZES,
    source=f"{LENS}, for the Llama family",
)
def transformer_folded_rms_norms(model, tokens):
    """So do those of RMSNorm, with gated MLPs and shared keys: the gate reads the norm too."""
    return equal(_logits(fold_norms(model), tokens), _logits(model, tokens))


@claim(
    "transformer.folded_gains_alone",
    over=_models(),
    sizes=SIZES,
    source="a tempting shortcut",
    expect="fails",
)
def transformer_folded_gains_alone(model, tokens):
    """Tempting and false: folding the gains, and forgetting that the biases of the norms have to go somewhere too."""
    forgotten = replace(
        model,
        blocks=[
            replace(
                block,
                attention_norm=replace(block.attention_norm, bias=None),
                mlp_norm=replace(block.mlp_norm, bias=None),
            )
            for block in model.blocks
        ],
        final_norm=replace(model.final_norm, bias=None),
    )
    return equal(_logits(fold_norms(forgotten), tokens), _logits(model, tokens))


@claim("transformer.folded_value_biases", over=_models(layout=POST), sizes=SIZES, source=LENS)
def transformer_folded_value_biases(model, tokens):
    """Value biases folded into the output bias leave the logits as they are, as the rows of a pattern sum to one."""
    return equal(_logits(fold_value_biases(model), tokens), _logits(model, tokens))


@claim("transformer.centred_writing_weights", over=_models(), sizes=SIZES, source=LENS)
def transformer_centred_writing_weights(model, tokens):
    """Everything that writes to the stream, centred, leaves the logits of a model with LayerNorm as they are."""
    return equal(_logits(centre_writing_weights(model), tokens), _logits(model, tokens))


@claim(
    "transformer.centred_writing_weights_post_ln",
    over=_models(layout=POST),
    sizes=SIZES,
    source=f"{LENS}, carried over to BERT",
)
def transformer_centred_writing_weights_post_ln(model, tokens):
    """With LayerNorm after the skip too, where what sublayers write is centred, and the embedding left as it is."""
    return equal(_logits(centre_writing_weights(model), tokens), _logits(model, tokens))


@claim("transformer.centred_unembedding", over=_models(), sizes=SIZES, source=LENS)
def transformer_centred_unembedding(model, tokens):
    """A centred unembedding takes its mean from every row of logits, and so leaves the probabilities as they are."""
    logits = _logits(model, tokens)
    return equal(_logits(centre_unembedding(model), tokens), logits - mean(logits))


@claim(
    "transformer.pair_conventions",
    over=_models(rotary=HALVES),
    sizes=EVEN,
    source="Su et al., RoFormer (2021), and the rotary positions of GPT-NeoX",
)
def transformer_pair_conventions(model, tokens):
    """Rotary halves are adjacent pairs after the same reordering of the columns of queries and keys."""
    order = halves_to_adjacent(model.blocks[0].attention.W_Q.shape[-1])
    reordered = replace(
        model,
        rotary=replace(model.rotary, pairs=ADJACENT),
        blocks=[
            replace(
                block,
                attention=replace(
                    block.attention,
                    **{name: getattr(block.attention, name)[..., order] for name in ("W_Q", "W_K", "b_Q", "b_K")},
                ),
            )
            for block in model.blocks
        ],
    )
    return equal(_logits(reordered, tokens), _logits(model, tokens))


# ---- decompositions that sum ------------------------------------------------


@claim("transformer.stream_sum", over=_models(), sizes=SIZES, source=f"{PAGE}, Theorem 2 (i), with every bias")
def transformer_stream_sum(model, tokens):
    """The last state is the embedding, plus what every sublayer wrote, plus a constant of the biases."""
    found = stream_sum(model, _run(model, tokens))
    return equal(found.total, found.whole)


@claim(
    "transformer.direct_logit_attribution",
    over=_models(layout="parallel", gated=True),
    sizes=SIZES,
    source=f"{PAGE}, Theorem 3 and its caveat, with every bias",
)
def transformer_direct_logit_attribution(model, tokens):
    """The shares of the embedding, of every head and of every MLP, with the scale of the last norm frozen, and one
    constant are the logits.
    """
    found = attribution_by_head(model, _run(model, tokens))
    return equal(found.total, found.whole)


@claim(
    "transformer.direct_logit_attribution_post_ln",
    over=_models(layout=POST),
    sizes=SIZES,
    source=f"{PAGE}, Theorem 3, carried over to norms after the skip",
)
def transformer_direct_logit_attribution_post_ln(model, tokens):
    """So are they where norms stand after the skips, each frozen at the scale that it had."""
    found = attribution_by_head(model, _run(model, tokens))
    return equal(found.total, found.whole)


@claim(
    "transformer.attribution_without_constant",
    over=_models(),
    sizes=SIZES,
    source="a tempting shortcut",
    expect="fails",
)
def transformer_attribution_without_constant(model, tokens):
    """Tempting and false: the shares of embedding, heads and MLPs alone are the logits. Biases belong to none."""
    found = attribution_by_head(model, _run(model, tokens))
    return equal(found.total - found.constant, found.whole)


@claim("transformer.path_expansion", over=_models(), sizes=SIZES, source=f"{PAGE}, Theorem 3, with MLPs and norms")
def transformer_path_expansion(model, tokens):
    """With patterns and norms frozen, every path from the embedding or an MLP through heads, and one constant, are the
    logits; by layers as well as by heads.
    """
    trace = _run(model, tokens)
    return equal(path_expansion(model, trace, BY_LAYER).total, path_expansion(model, trace).whole)


@claim(
    "transformer.logit_lens", over=_models(), sizes=SIZES, source=f"{PAGE}, Induction heads, with the norm recomputed"
)
def transformer_logit_lens(model, tokens):
    """What the lens says of the embedding, and by how much each block moves it, are the logits."""
    found = logit_lens_increments(model, _run(model, tokens))
    return equal(found.total, found.whole)
