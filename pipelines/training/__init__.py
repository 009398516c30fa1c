"""Freeze, adapt, unfreeze: stages, batches, features kept, the best state."""
