"""Runs Alembic from the program, without an `alembic.ini`."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.util.exc import CommandError
from sqlalchemy import Connection

from interlock_gateway.pipeline.ports import StoredFormatError


def configuration() -> Config:
    """Alembic's configuration: where the revisions are."""
    config = Config()
    # A percent sign starts an interpolation there.
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def upgrade(connection: Connection, to: str = "head") -> None:
    """Run every migration up to `to` that `connection`'s database has not seen; raises `StoredFormatError`."""
    config = configuration()
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, to)
    except CommandError as error:
        raise StoredFormatError(f"the state database does not fit this version of the gateway: {error}") from error
