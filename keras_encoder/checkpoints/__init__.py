"""Weights in and out: one file a format, a name table each."""
