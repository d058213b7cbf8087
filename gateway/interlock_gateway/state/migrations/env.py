"""What Alembic runs: on the connection it was handed, in the transaction that is open there."""

from alembic import context

from interlock_gateway.state.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
context.run_migrations()
