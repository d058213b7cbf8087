"""Keys that all gateways on one database use: what one sealed, another opens, also after a restart."""

import secrets
from functools import partial

from sqlalchemy import bindparam, select

from interlock_gateway.state.lane import Lane
from interlock_gateway.state.schema import shared_keys
from interlock_gateway.state.transaction import Link, Statement

KEY_BYTES = 32
_MAKE = Statement(
    lambda insert: insert(shared_keys).values(name=bindparam("name"), key=bindparam("key")).on_conflict_do_nothing()
)
_GET = Statement(select(shared_keys.c.key).where(shared_keys.c.name == bindparam("name")))


class SharedKeys:
    """Random keys of 32 bytes by name. Whoever may read the database may read them, and could answer for anybody."""

    def __init__(self, reader: Lane, writer: Lane) -> None:
        self._reader = reader
        self._writer = writer

    async def key(self, name: str) -> bytes:
        """The key of that name; of many who ask for it first, all get the same. Raises `StateUnavailableError`."""
        row = await self._reader.submit(lambda link: link.row(_GET, name=name))
        if row is not None:
            return bytes(row[0])
        return await self._writer.submit(partial(_made, name=name, key=secrets.token_bytes(KEY_BYTES)))


def _made(link: Link, name: str, key: bytes) -> bytes:
    link.change(_MAKE, name=name, key=key)
    row = link.row(_GET, name=name)
    assert row is not None
    return bytes(row[0])
