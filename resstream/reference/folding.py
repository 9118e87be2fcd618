"""Changes of a transformer's weights that leave what it says as it is: each is a claim of its own ("same logits")."""

from __future__ import annotations

from dataclasses import replace

from resstream.arithmetic import Array, mean
from resstream.errors import DomainError
from resstream.reference.checks import require_instance
from resstream.reference.transformer import (
    LAYER,
    POST,
    AttentionLayer,
    FeedForward,
    NormLayer,
    Transformer,
    TransformerBlock,
)


def fold_norms(model: Transformer) -> Transformer:
    """Gains and biases of the norms moved into the maps that read them: the same logits, norms without parameters.

    A post-LN block raises DomainError, as there the stream itself carries the gain; so does a model whose last norm is
    read by no unembedding. Source: "A Mathematical Framework for Transformer Circuits", appendix; the claim
    `literature.layernorm_folding` for one map.
    """
    require_instance("model", model, Transformer)
    if any(block.layout == POST for block in model.blocks):
        raise DomainError("model: the gain of a norm after the skip is part of the stream, and cannot be folded")
    blocks = [_folded(block) for block in model.blocks]
    if model.final_norm is None:
        return replace(model, blocks=blocks)
    if model.unembedding is None:
        raise DomainError("model: the last norm is read by no unembedding, so it has nowhere to go")
    gain, bias = model.final_norm.gain, model.final_norm.bias
    return replace(
        model,
        blocks=blocks,
        final_norm=replace(model.final_norm, gain=None, bias=None),
        unembedding=_scaled(model.unembedding, gain),
        output_bias=_shifted(model.unembedding, bias, model.output_bias),
    )


def _folded(block: TransformerBlock) -> TransformerBlock:
    return replace(
        block,
        attention=_folded_attention(block.attention, block.attention_norm),
        mlp=None if block.mlp is None else _folded_mlp(block.mlp, block.mlp_norm),
        attention_norm=_bare(block.attention_norm),
        mlp_norm=_bare(block.mlp_norm),
    )


def _bare(norm: NormLayer | None) -> NormLayer | None:
    return None if norm is None else replace(norm, gain=None, bias=None)


def _folded_attention(attention: AttentionLayer, norm: NormLayer | None) -> AttentionLayer:
    return (
        attention
        if norm is None
        else replace(
            attention,
            W_Q=_scaled(attention.W_Q, norm.gain, heads=True),
            W_K=_scaled(attention.W_K, norm.gain, heads=True),
            W_V=_scaled(attention.W_V, norm.gain, heads=True),
            b_Q=_shifted(attention.W_Q, norm.bias, attention.b_Q, heads=True),
            b_K=_shifted(attention.W_K, norm.bias, attention.b_K, heads=True),
            b_V=_shifted(attention.W_V, norm.bias, attention.b_V, heads=True),
        )
    )


def _folded_mlp(mlp: FeedForward, norm: NormLayer | None) -> FeedForward:
    if norm is None:
        return mlp
    W_gate = mlp.W_gate
    return replace(
        mlp,
        W_in=_scaled(mlp.W_in, norm.gain),
        b_in=_shifted(mlp.W_in, norm.bias, mlp.b_in),
        W_gate=None if W_gate is None else _scaled(W_gate, norm.gain),
        b_gate=None if W_gate is None else _shifted(W_gate, norm.bias, mlp.b_gate),
    )


def _scaled(W: Array, gain: Array | None, heads: bool = False) -> Array:
    """diag(gain) @ W."""
    if gain is None:
        return W
    return (gain[..., None, :, :] if heads else gain).mT * W


def _shifted(W: Array, bias: Array | None, b: Array | None, heads: bool = False) -> Array | None:
    """b + bias @ W."""
    if bias is None:
        return b
    moved: Array = (bias[..., None, :, :] if heads else bias) @ W
    return moved if b is None else moved + b


def fold_value_biases(model: Transformer) -> Transformer:
    """Value biases moved into the output bias: the same logits, as the rows of every pattern sum to one.

    Source: the claim `literature.value_bias_folding`.
    """
    require_instance("model", model, Transformer)
    blocks = [
        replace(block, attention=replace(block.attention, b_V=None, b_O=block.attention.constant_write))
        for block in model.blocks
    ]
    return replace(model, blocks=blocks)


def centre_writing_weights(model: Transformer) -> Transformer:
    """Everything that writes to the stream less its mean over the stream's columns: the same logits.

    Every reader of the stream must be a LayerNorm, which takes the mean away in any case; RMSNorm does not, and raises
    DomainError, as does a pre-LN model without a final norm. Source: TransformerLens, `center_writing_weights`; the
    claim `literature.centred_writers` for one map.
    """
    require_instance("model", model, Transformer)
    readers = [block.attention_norm for block in model.blocks]
    readers += [block.mlp_norm for block in model.blocks if block.mlp is not None]
    post = bool(model.blocks) and all(block.layout == POST for block in model.blocks)
    if not post:
        if any(block.layout == POST for block in model.blocks):
            raise DomainError("model: expected norms before every sublayer, or after every skip")
        if model.final_norm is None:
            raise DomainError("model: the unembedding reads the stream without a norm, so its mean is part of it")
        readers.append(model.final_norm)
    if model.embedding_norm is not None:
        readers.append(model.embedding_norm)
    if any(norm is None for norm in readers):
        raise DomainError("model: a sublayer reads the stream without a norm, so its mean is part of it")
    if any(norm is not None and norm.kind != LAYER for norm in readers):
        raise DomainError("model: RMSNorm sees the mean of the stream, so writing weights cannot be centred")
    blocks = [
        replace(
            block,
            attention=replace(
                block.attention, W_O=_centred(block.attention.W_O), b_O=_centred_bias(block.attention.b_O)
            ),
            mlp=None
            if block.mlp is None
            else replace(block.mlp, W_out=_centred(block.mlp.W_out), b_out=_centred_bias(block.mlp.b_out)),
        )
        for block in model.blocks
    ]
    changed = replace(model, blocks=blocks)
    if post and model.embedding_norm is None:
        return changed  # the first block attends to the embedding as it is
    return replace(
        changed,
        embedding=_centred(model.embedding),
        position_embedding=_centred_bias(model.position_embedding),
        segment=_centred_bias(model.segment),
    )


def centre_unembedding(model: Transformer) -> Transformer:
    """The unembedding and its bias less their means over the vocabulary: logits less each row's mean.

    So the probabilities are the same, and so is every difference of two logits. A model without an unembedding raises
    DomainError. Source: TransformerLens, `center_unembed`.
    """
    require_instance("model", model, Transformer)
    if model.unembedding is None:
        raise DomainError("model: expected an unembedding, got none")
    return replace(model, unembedding=_centred(model.unembedding), output_bias=_centred_bias(model.output_bias))


def _centred(W: Array) -> Array:
    return W - mean(W)


def _centred_bias(b: Array | None) -> Array | None:
    return None if b is None else _centred(b)
