"""The operation log: who did what, written once, and only for what was committed."""
