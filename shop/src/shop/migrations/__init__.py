"""Alembic revisions of the shop's own tables; `shop.database.migrate` runs them."""
