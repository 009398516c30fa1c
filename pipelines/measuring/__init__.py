"""What is counted, timed or compared with transformers."""
