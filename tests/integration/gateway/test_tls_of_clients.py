"""Clients whose certificates are replaced while they run, as those of a mesh are every hour."""

import asyncio
from pathlib import Path

import pytest
from certificates import Leaf
from interlock import Gateway, SyncGateway
from interlock.errors import GatewayUnavailableError
from interlock.tls import ClientTls
from tls_bench import AGENT, HOST, TlsBench, behind_tls


class Shown:
    """What an agent shows: files that something else keeps fresh."""

    def __init__(self, at: TlsBench, directory: Path) -> None:
        self.directory = directory
        (directory / "servers.pem").write_bytes(at.pki.servers.pem)
        self.tls = ClientTls(
            directory / "servers.pem", directory / "agent.crt", directory / "agent.key", server_name=HOST
        )

    def is_now(self, leaf: Leaf) -> None:
        leaf.written(self.directory, "agent")


@pytest.mark.req("AUTH-1", "SDK-1")
async def test_a_client_takes_the_certificate_that_was_put_in_place_of_its_old_one(
    socket_directory: Path, tmp_path: Path
) -> None:
    async with behind_tls(socket_directory) as at:
        shown = Shown(at, tmp_path)
        shown.is_now(at.pki.servers.leaf(AGENT))  # nobody who vouches for clients
        async with Gateway(at.address, tls=shown.tls, timeout=30) as gateway:
            session = gateway.session("s")
            with pytest.raises(GatewayUnavailableError):
                await session.call("echo", {"text": "x"})
            first = gateway.driver._opened
            (tmp_path / "agent.key").write_text("half of what is to come", encoding="utf-8")
            with pytest.raises(GatewayUnavailableError):
                await session.call("echo", {"text": "x"})
            assert gateway.driver._opened is first
            shown.is_now(at.pki.agent())
            # The call is asked again by itself, and the channel is another by then.
            assert (await session.call("echo", {"text": "x"})).text == "x"
            second = gateway.driver._opened
            assert (await session.call("echo", {"text": "y"})).text == "y"
            assert gateway.driver._opened is second


@pytest.mark.req("AUTH-1", "SDK-1")
async def test_so_does_a_client_for_threads(socket_directory: Path, tmp_path: Path) -> None:
    async with behind_tls(socket_directory) as at:
        shown = Shown(at, tmp_path)
        shown.is_now(at.pki.servers.leaf(AGENT))

        def used() -> str:
            with SyncGateway(at.address, tls=shown.tls, timeout=30) as gateway:
                session = gateway.session("s")
                with pytest.raises(GatewayUnavailableError):
                    session.call("echo", {"text": "x"})
                shown.is_now(at.pki.agent())
                return session.call("echo", {"text": "x"}).text

        assert await asyncio.to_thread(used) == "x"
