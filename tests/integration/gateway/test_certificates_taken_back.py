"""Clients whose certificates are taken back while they are connected (AUTH-1)."""

from pathlib import Path

import grpc
import pytest
from scraping import samples_in, scraped, value
from tls_bench import behind_tls, call, code_of
from waiting import eventually

OK, UNAVAILABLE = grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE


@pytest.mark.req("AUTH-1")
async def test_a_client_whose_certificate_is_taken_back_is_sent_away_and_not_let_in_again(
    socket_directory: Path,
) -> None:
    async with behind_tls(socket_directory, with_lists=True) as at:
        lost, kept = at.pki.agent(), at.pki.agent()
        async with at.channel(lost) as taken, at.channel(kept) as staying:
            assert (await call(taken), await call(staying)) == ("hello", "hello")
            at.pki.taken_back.append(lost)
            at.pki.write_list()
            tls = at.made.gateway.rooms.entrance.tls
            assert tls is not None
            await eventually(lambda: tls.counts["loaded"] == 1)
            assert await code_of(taken) is UNAVAILABLE
            assert await code_of(staying) is OK
        async with at.channel(lost) as again:
            assert await code_of(again) is UNAVAILABLE


@pytest.mark.req("AUTH-1", "OBS-1")
async def test_a_list_that_cannot_be_used_changes_nothing_and_operators_are_told(socket_directory: Path) -> None:
    async with behind_tls(socket_directory, with_lists=True) as at:
        tls = at.made.gateway.rooms.entrance.tls
        assert tls is not None
        (at.pki.directory / "ca.crl").write_text("none")
        await eventually(lambda: tls.counts["refused"] == 1)
        async with at.channel(at.pki.agent()) as agent:
            assert await call(agent) == "hello"
        parts = {part.name: part for part in at.made.gateway.state().components}
        assert not parts["tls"].healthy
        assert "ca.crl does not hold revocation lists in PEM, and nothing else" in parts["tls"].message
        shown = value(samples_in(await scraped(at.made)), "interlock_tls_revocation_expiry_timestamp_seconds")
        assert shown == tls.material.lists_end_at
