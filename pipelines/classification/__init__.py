"""What classifiers need: texts as batches, decisions from scores, metrics."""
