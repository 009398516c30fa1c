"""Sizes of well-known encoders, and nothing else."""

# `bert-*`: the sizes of https://github.com/google-research/bert;
# `minilm-l6-h384`: that of all-MiniLM-L6-v2, `distilbert-base`: that of
# https://arxiv.org/abs/1910.01108.
PRESETS = {
    "bert-tiny": dict(num_layers=2, hidden_dim=128, num_heads=2),
    "bert-mini": dict(num_layers=4, hidden_dim=256, num_heads=4),
    "bert-small": dict(num_layers=4, hidden_dim=512, num_heads=8),
    "bert-medium": dict(num_layers=8, hidden_dim=512, num_heads=8),
    "bert-base": dict(num_layers=12, hidden_dim=768, num_heads=12),
    "bert-large": dict(num_layers=24, hidden_dim=1024, num_heads=16),
    "minilm-l6-h384": dict(num_layers=6, hidden_dim=384, num_heads=12),
    "distilbert-base": dict(num_layers=6, hidden_dim=768, num_heads=12),
}


def preset_config(name):
    """Keyword arguments of `Encoder` for a size of the table.

    Args:
        name: a key of `PRESETS`.
    """
    size = PRESETS[name]
    return dict(
        vocabulary_size=30522,
        intermediate_dim=4 * size["hidden_dim"],
        **size,
    )
