from alembic import context

from shop.database import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table="shop_version",
)
with context.begin_transaction():
    context.run_migrations()
