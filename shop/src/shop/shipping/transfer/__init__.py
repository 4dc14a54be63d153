"""Bringing files to somebody else's folder: whole, under their name, and once they are whole."""
