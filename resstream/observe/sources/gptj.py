"""GPT-J: rotary positions in adjacent pairs, one norm for attention and MLP in parallel, an unembedding with bias."""

from __future__ import annotations

from resstream.observe.sources.neox import unembedding
from resstream.observe.sources.tensors import Settings, Tensors, heads_in, heads_out
from resstream.reference.positions import ADJACENT, RotaryPositions
from resstream.reference.transformer import PARALLEL, AttentionLayer, FeedForward, Transformer, TransformerBlock

PREFIXES = ("transformer.",)
WITHOUT = (r"\.attn\.(masked_)?bias$", r"\.attn\.embed_positions$")


def transformer(config: Settings, tensors: Tensors) -> Transformer:
    """The model of a configuration and tensors; raises WeightsError."""
    d, heads, symbols = config.whole("n_embd"), config.whole("n_head"), config.whole("vocab_size")
    width = config.whole("n_inner", 4 * d)
    epsilon = config.number("layer_norm_epsilon", 1e-5)
    activation = config.activation("activation_function", "gelu_new")
    blocks = []
    for index in range(config.whole("n_layer")):
        at = f"h.{index}"
        W_Q, W_K, W_V = (heads_in(tensors.linear(f"{at}.attn.{name}_proj", d, d), heads) for name in "qkv")
        attention = AttentionLayer(W_Q, W_K, W_V, heads_out(tensors.linear(f"{at}.attn.out_proj", d, d), heads))
        mlp = FeedForward(
            tensors.linear(f"{at}.mlp.fc_in", d, width),
            tensors.linear(f"{at}.mlp.fc_out", width, d),
            activation,
            tensors.row(f"{at}.mlp.fc_in.bias", width),
            tensors.row(f"{at}.mlp.fc_out.bias", d),
        )
        norm = tensors.norm(f"{at}.ln_1", d, epsilon)
        blocks.append(TransformerBlock(attention, mlp, norm, norm, PARALLEL))
    embedding = tensors("wte.weight", symbols, d)
    return Transformer(
        embedding,
        blocks,
        tensors.norm("ln_f", d, epsilon),
        unembedding(config, tensors, "lm_head", embedding, tied=False),
        tensors.row_if_there("lm_head.bias", symbols),
        rotary=RotaryPositions(config.whole("rotary_dim", d // heads), pairs=ADJACENT),
    )
