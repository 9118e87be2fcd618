"""BLOOM: ALiBi instead of positions, a norm of the embedding, tied embeddings."""

from __future__ import annotations

import numpy as np

from resstream.observe.sources.neox import fused_attention, unembedding
from resstream.observe.sources.tensors import Settings, Tensors
from resstream.reference.positions import alibi_slopes
from resstream.reference.transformer import FeedForward, Transformer, TransformerBlock

PREFIXES = ("transformer.",)
WITHOUT = (r"^lm_head\.weight$",)


def transformer(config: Settings, tensors: Tensors) -> Transformer:
    """The model of a configuration and tensors; raises WeightsError."""
    config.require("apply_residual_connection_post_layernorm", False)
    d = config.whole("n_embed", config.values.get("hidden_size"))
    heads = config.whole("num_attention_heads", config.values.get("n_head"))
    layers = config.whole("n_layer", config.values.get("num_hidden_layers"))
    epsilon = config.number("layer_norm_epsilon", 1e-5)
    blocks = []
    for index in range(layers):
        at = f"h.{index}"
        attention = fused_attention(tensors, f"{at}.self_attention", d, heads)
        mlp = FeedForward(
            tensors.linear(f"{at}.mlp.dense_h_to_4h", d, 4 * d),
            tensors.linear(f"{at}.mlp.dense_4h_to_h", 4 * d, d),
            "gelu_tanh",
            tensors.row(f"{at}.mlp.dense_h_to_4h.bias", 4 * d),
            tensors.row(f"{at}.mlp.dense_4h_to_h.bias", d),
        )
        norms = tensors.norms(at, (".input_layernorm", ".post_attention_layernorm"), d, epsilon)
        blocks.append(TransformerBlock(attention, mlp, *norms))
    symbols = config.whole("vocab_size")
    embedding = tensors("word_embeddings.weight", symbols, d)
    return Transformer(
        embedding,
        blocks,
        tensors.norm("ln_f", d, epsilon),
        unembedding(config, tensors, "lm_head", embedding, tied=True),
        embedding_norm=tensors.norm("word_embeddings_layernorm", d, epsilon),
        alibi=np.array(alibi_slopes(heads))[:, None, None],
    )
