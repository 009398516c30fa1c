"""From the user's files to examples and batches: one file a format."""
