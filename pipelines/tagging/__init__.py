"""What taggers need: words and pieces, windows, schemes, decoding, entities."""
