"""Certificates that their authority vouches for, and that nobody can read (AUTH-1)."""

import logging
from pathlib import Path

import grpc
import pytest
from interlock_gateway.config import Front
from scraping import samples_in, scraped, value
from tls_bench import behind_tls, call, code_of

EDI_PARTY_NAME = bytes.fromhex("3007a505a1030c0178")
"""Names of a certificate of which the only one is of a kind that nothing here reads (RFC 5280, section 4.2.1.6)."""


@pytest.mark.req("AUTH-1", "OBS-1")
async def test_a_certificate_that_grpcio_lets_in_and_nobody_can_read_is_refused_counted_and_told(
    socket_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        async with behind_tls(socket_directory, Front.GRPCIO) as at:
            async with at.channel(at.pki.agent(names_der=EDI_PARTY_NAME)) as odd:
                for _ in range(12):
                    assert await code_of(odd) is grpc.StatusCode.UNAUTHENTICATED
            async with at.channel(at.pki.agent()) as agent:
                assert await call(agent) == "hello"
            samples = samples_in(await scraped(at.made))
    assert value(samples, "interlock_callers_refused_total", reason="certificate_invalid") == 12
    told = [vars(record) for record in caplog.records if record.message == "a caller was refused"]
    assert len(told) == 10, "of many of a kind only some are logged"
    assert {one["reason"] for one in told} == {"certificate_invalid"}
    assert {one["from"] for one in told} == {"127.0.0.1"}
    assert "malformed" in told[0]["detail"]


@pytest.mark.req("AUTH-1", "REL-8")
async def test_connections_with_certificates_that_nobody_can_read_do_not_fill_the_log(
    socket_directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        async with behind_tls(socket_directory) as at:
            shown = at.pki.agent(names_der=EDI_PARTY_NAME)
            for _ in range(12):
                async with at.channel(shown) as odd:
                    assert await code_of(odd) is grpc.StatusCode.UNAVAILABLE
    told = [vars(record)["problem"] for record in caplog.records if record.message == "a connection was closed"]
    assert len(told) == 10
    assert {one.partition(":")[0] for one in told} == {"it is malformed"}
