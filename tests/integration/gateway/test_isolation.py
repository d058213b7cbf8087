"""The table of every RPC by role and owner (SEC-7), played whole against a gateway."""

from collections.abc import Callable
from pathlib import Path

import pytest
from access_document import DOCUMENT, document
from access_table import ROWS, methods, naming_fields, row_of
from interlock_gateway.core.operation import Operation
from interlock_gateway.errors import RequestError, RequestFault
from interlock_gateway.identity.access import ACCESS
from interlock_gateway.pipeline import settle_operation
from interlock_gateway.pipeline.ports import StateStore
from interlock_gateway.sessions import book
from isolation_play import by_tools, crossed, foreign, kept, mixed, owners, people, roles, unheard_of, watching
from isolation_scene import Door, by_certificates, by_tokens, scene


@pytest.mark.req("SEC-7", "AUTH-2")
def test_every_rpc_that_the_gateway_knows_has_its_row() -> None:
    assert {row_of(method) for method in methods()} == set(ROWS)


@pytest.mark.req("SEC-7")
def test_every_field_that_names_something_is_in_its_row() -> None:
    for method in methods():
        row = ROWS[row_of(method)]
        if row.is_served:
            assert set(naming_fields(method.input_type)) == {*row.names, *row.shared}, row_of(method)


@pytest.mark.req("SEC-7", "AUTH-2")
def test_the_gateways_own_table_says_the_same() -> None:
    assert {path.removeprefix("/interlock.v1."): roles for path, roles in ACCESS.items()} == {
        name: row.roles for name, row in ROWS.items() if row.roles
    }


@pytest.mark.req("SEC-7")
def test_the_document_says_what_the_table_says() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document()


@pytest.mark.req("SEC-7", "AUTH-2", "ART-1")
@pytest.mark.parametrize("door", [by_tokens, by_certificates])
async def test_nothing_is_possible_that_the_table_does_not_allow(
    socket_directory: Path, door: Callable[[Path], Door]
) -> None:
    async with scene(socket_directory, door(socket_directory)) as set_up:
        before = await kept(set_up)
        wrong = [
            said
            for play in (foreign, unheard_of, crossed, by_tools, mixed, people, roles)
            async for said in play(set_up)
        ]
        after = await kept(set_up)
        wrong += [said for play in (watching, owners) async for said in play(set_up)]
    assert not wrong, "\n".join(wrong)
    assert after == before


@pytest.mark.req("SEC-7")
async def test_a_gateway_that_forgot_whose_things_are_is_found_out(
    socket_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def anybodys(store: StateStore, session_id: str, operation_id: str, field: str) -> Operation:
        del session_id, field
        found = await store.journal.get_operation(operation_id)
        if found is None:
            raise RequestError(RequestFault.OPERATION_NOT_FOUND, "there is no such operation")
        return found

    async with scene(socket_directory, by_tokens(socket_directory)) as set_up:
        monkeypatch.setattr(settle_operation, "operation_of_session", anybodys)
        found = [said async for said in crossed(set_up)]
        assert found
        assert all(said.startswith("GatewayService/SettleOperation") for said in found)
        monkeypatch.setattr(book, "_checked", lambda live, *_, **__: live)
        assert [said async for said in foreign(set_up)]
