"""What a run tells: of its data before training, of its model after it."""
