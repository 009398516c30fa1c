"""Sizes of well-known encoders, and nothing else."""

# `bert-*`: https://github.com/google-research/bert (released sizes);
# `minilm-l6`: sentence-transformers/all-MiniLM-L6-v2.
PRESETS = {
    "bert-tiny": dict(num_layers=2, hidden_dim=128, num_heads=2),
    "bert-mini": dict(num_layers=4, hidden_dim=256, num_heads=4),
    "bert-small": dict(num_layers=4, hidden_dim=512, num_heads=8),
    "bert-medium": dict(num_layers=8, hidden_dim=512, num_heads=8),
    "bert-base": dict(num_layers=12, hidden_dim=768, num_heads=12),
    "bert-large": dict(num_layers=24, hidden_dim=1024, num_heads=16),
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
