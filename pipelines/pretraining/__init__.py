"""What pretraining needs: vocabulary, rows, masks, epochs; and fill-mask."""
