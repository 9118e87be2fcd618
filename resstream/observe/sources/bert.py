"""BERT, RoBERTa and DistilBERT: LayerNorm after the skips, every position sees every other."""

from __future__ import annotations

from collections.abc import Mapping

from resstream.arithmetic import Array
from resstream.observe.sources.tensors import Settings, Tensors, bias_of_heads, heads_in, heads_out
from resstream.reference.transformer import (
    POST,
    AttentionLayer,
    FeedForward,
    PredictionHead,
    Transformer,
    TransformerBlock,
)

PREFIXES = ("bert.", "roberta.", "distilbert.")
WITHOUT = (r"position_ids$", r"^(\w+\.)?pooler\.", r"^cls\.seq_relationship\.", r"decoder\.(weight|bias)$",
           r"^vocab_projector\.weight$")  # fmt: skip

BERT_NAMES = {
    "layer": "encoder.layer", "queries": "attention.self.query", "keys": "attention.self.key",
    "values": "attention.self.value", "output": "attention.output.dense", "first norm": "attention.output.LayerNorm",
    "in": "intermediate.dense", "out": "output.dense", "second norm": "output.LayerNorm",
}  # fmt: skip
DISTIL_NAMES = {
    "layer": "transformer.layer", "queries": "attention.q_lin", "keys": "attention.k_lin",
    "values": "attention.v_lin", "output": "attention.out_lin", "first norm": "sa_layer_norm",
    "in": "ffn.lin1", "out": "ffn.lin2", "second norm": "output_layer_norm",
}  # fmt: skip
HEADS = (
    ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"),
    ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
    ("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
)
"""Dense layer, norm and output bias of a masked language model, in BERT, RoBERTa and DistilBERT."""


def transformer(config: Settings, tensors: Tensors) -> Transformer:
    """The model of a configuration and tensors; raises WeightsError."""
    config.require("is_decoder", False)
    config.require("tie_word_embeddings", True)
    config.require("position_embedding_type", "absolute")
    distilled = config.values.get("model_type") == "distilbert"
    names = DISTIL_NAMES if distilled else BERT_NAMES
    renamed = DISTIL_SETTINGS if distilled else BERT_SETTINGS
    d, heads, layers, width = (config.whole(renamed[name]) for name in ("width", "heads", "layers", "hidden"))
    epsilon = config.number("layer_norm_eps", 1e-12)
    activation = config.activation(renamed["activation"], "gelu")
    blocks = [
        _block(tensors, f"{names['layer']}.{index}.", names, d, heads, width, epsilon, activation)
        for index in range(layers)
    ]
    places = config.whole("max_position_embeddings")
    positions = tensors("embeddings.position_embeddings.weight", places, d)
    if config.values.get("model_type") == "roberta":  # whose positions begin after that of the padding
        positions = positions[config.values.get("pad_token_id", 1) + 1 :]
    segment = None
    if not distilled:
        kinds = config.whole("type_vocab_size", 2)
        segment = tensors("embeddings.token_type_embeddings.weight", kinds, d)[:1]
    symbols = config.whole("vocab_size")
    embedding = tensors("embeddings.word_embeddings.weight", symbols, d)
    head, bias = _prediction_head(tensors, d, symbols, epsilon, activation)
    return Transformer(
        embedding,
        blocks,
        unembedding=None if head is None else embedding.T,
        output_bias=bias,
        position_embedding=positions,
        segment=segment,
        embedding_norm=tensors.norm("embeddings.LayerNorm", d, epsilon),
        prediction_head=head,
        causal=False,
    )


BERT_SETTINGS = {
    "width": "hidden_size", "heads": "num_attention_heads", "layers": "num_hidden_layers",
    "hidden": "intermediate_size", "activation": "hidden_act",
}  # fmt: skip
DISTIL_SETTINGS = {
    "width": "dim", "heads": "n_heads", "layers": "n_layers", "hidden": "hidden_dim", "activation": "activation",
}  # fmt: skip


def _block(
    tensors: Tensors,
    at: str,
    names: Mapping[str, str],
    d: int,
    heads: int,
    width: int,
    epsilon: float,
    activation: str,
) -> TransformerBlock:
    read = [at + names[name] for name in ("queries", "keys", "values")]
    output, inward, outward = (at + names[name] for name in ("output", "in", "out"))
    W_Q, W_K, W_V = (heads_in(tensors.linear(name, d, d), heads) for name in read)
    b_Q, b_K, b_V = (bias_of_heads(tensors.row(f"{name}.bias", d), heads) for name in read)
    W_O, b_O = heads_out(tensors.linear(output, d, d), heads), tensors.row(f"{output}.bias", d)
    attention = AttentionLayer(W_Q, W_K, W_V, W_O, b_Q, b_K, b_V, b_O)
    mlp = FeedForward(
        tensors.linear(inward, d, width),
        tensors.linear(outward, width, d),
        activation,
        tensors.row(f"{inward}.bias", width),
        tensors.row(f"{outward}.bias", d),
    )
    norms = tensors.norms(at, (names["first norm"], names["second norm"]), d, epsilon)
    return TransformerBlock(attention, mlp, *norms, POST)


def _prediction_head(
    tensors: Tensors, d: int, symbols: int, epsilon: float, activation: str
) -> tuple[PredictionHead | None, Array | None]:
    for dense, norm, bias in HEADS:
        if f"{dense}.weight" in tensors:
            W, b = tensors.linear(dense, d, d), tensors.row(f"{dense}.bias", d)
            return PredictionHead(W, b, tensors.norm(norm, d, epsilon), activation), tensors.row(bias, symbols)
    return None, None
