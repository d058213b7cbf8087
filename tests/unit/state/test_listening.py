"""The connection on which a replica hears of the others: nothing stays open of one that is not used any more."""

import psycopg
import pytest
from interlock_gateway.pipeline.ports import StateUnavailableError
from interlock_gateway.state.listening import Listening

pytestmark = pytest.mark.parametrize("kind", ["postgresql"], indirect=True)
Connection = psycopg.AsyncConnection[tuple[object, ...]]


def listening(url: str, channel: str) -> tuple[Listening, list[Connection]]:
    """Somebody who listens there, and the connections that were made for it."""
    made: list[Connection] = []

    async def connect() -> Connection:
        made.append(await psycopg.AsyncConnection.connect(url, autocommit=True))
        return made[-1]

    return Listening(connect, {channel: lambda _told: None}, lambda: None), made


@pytest.mark.req("STATE-2")
async def test_nothing_stays_open_of_who_stops_before_it_heard_anything(url: str) -> None:
    one, made = listening(url, "changes")
    await one.start()
    await one.stop()
    assert [connection.closed for connection in made] == [True]


@pytest.mark.req("STATE-2")
async def test_nothing_stays_open_of_who_could_not_listen(url: str) -> None:
    one, made = listening(url, "no such channel")
    with pytest.raises(StateUnavailableError):
        await one.start()
    assert [connection.closed for connection in made] == [True]
