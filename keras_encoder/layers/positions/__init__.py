"""How an encoder learns about word order: one file a kind."""
