"""From files of labelled words to examples: one file a format."""
