"""A tea shop on Django."""
