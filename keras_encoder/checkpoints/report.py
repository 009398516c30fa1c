"""What a checkpoint had, what the model needed, and what met."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class LoadReport:
    """The outcome of loading a checkpoint into a model.

    Attributes:
        source: what was read, for people.
        matched: names of the tensors that were loaded.
        missing: names that the model needs and the checkpoint lacks; they
            keep their random values.
        unexpected: names in the checkpoint that the model has no use for.
    """

    source: str
    matched: tuple[str, ...]
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()

    @property
    def pooler_is_random(self):
        """True if the checkpoint had no pooler."""
        return any(name.startswith("pooler.") for name in self.missing)

    def __str__(self):
        lines = [
            f"{self.source}: {len(self.matched)} tensors matched, "
            f"{len(self.missing)} missing, {len(self.unexpected)} unused"
        ]
        if self.unexpected:
            lines.append(f"  unused: {_shorten(self.unexpected)}")
        if self.missing:
            lines.append(f"  RANDOM, to be trained: {_shorten(self.missing)}")
        return "\n".join(lines)


def _shorten(names, most=6):
    shown = ", ".join(names[:most])
    rest = len(names) - most
    return shown if rest <= 0 else f"{shown} and {rest} more"
