"""A shop whose promises are kept by todoke: what it commits, arrives."""
