"""Who asks and who answers: tokens, certificates, and nothing of the environment (ENG-1, ENG-3)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from asked_opa import STRICT, asking, does, failure, said, saying, unix
from broken_opa import broken_opa
from interlock_gateway.core.decision import GatewayErrorCode
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.opa.settings import OpaAccess
from opa_certificates import Authority, Certificate
from opa_process import OpaProcess, free_port, running_opa
from waiting import eventually

ADDRESS = "127.0.0.1"
UNAVAILABLE = GatewayErrorCode.POLICY_UNAVAILABLE
AUTHORISED = """package system.authz

default allow := false

allow if input.identity == "let-me-in"

allow if input.path == ["v1", "policies", "anybody"]
"""


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


@contextmanager
def encrypted(program: Any, certificate: Certificate, *more: str) -> Iterator[OpaProcess]:
    files = ("--tls-cert-file", str(certificate.file), "--tls-private-key-file", str(certificate.key_file))
    with running_opa(program("opa"), f"https://{ADDRESS}:{free_port()}", *files, *more) as server:
        yield server


def access_to(server: OpaProcess, authority: Authority, **more: Any) -> OpaAccess:
    port = int(server.url.rpartition(":")[2])
    return OpaAccess(**{"host": ADDRESS, "port": port, "tls": True, "ca_file": authority.file, **more})


@pytest.mark.req("ENG-1")
async def test_an_opa_on_a_port_is_asked_over_tls(program: Any, authority: Authority) -> None:
    with encrypted(program, authority.issue(ADDRESS)) as server:
        async with asking(access_to(server, authority)) as engine:
            assert await said(engine) == "hello"
            assert engine.shown == server.url


@pytest.mark.req("ENG-1", "ENG-3")
async def test_an_opa_of_another_authority_is_not_asked(program: Any, authority: Authority, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "other")
    with encrypted(program, other.issue(ADDRESS)) as server:
        async with asking(access_to(server, authority), bounds=STRICT) as engine:
            assert await failure(engine) is UNAVAILABLE
            assert "no encrypted connection" in engine.trouble
        async with asking(access_to(server, authority, ca_file=None), bounds=STRICT) as engine:
            assert await failure(engine) is UNAVAILABLE


@pytest.mark.req("ENG-1", "ENG-3")
async def test_an_opa_with_the_certificate_of_another_host_is_not_asked(program: Any, authority: Authority) -> None:
    with encrypted(program, authority.issue("opa.example.com")) as server:
        async with asking(access_to(server, authority), bounds=STRICT) as engine:
            assert await failure(engine) is UNAVAILABLE


@pytest.mark.req("ENG-1")
async def test_a_gateway_shows_its_certificate_to_an_opa_that_asks_for_one(program: Any, authority: Authority) -> None:
    more = ("--authentication", "tls", "--tls-ca-cert-file", str(authority.file))
    own = authority.issue("gateway.example.com")
    with encrypted(program, authority.issue(ADDRESS), *more) as server:
        async with asking(access_to(server, authority), bounds=STRICT) as engine:
            assert await failure(engine) is UNAVAILABLE
        shown = access_to(server, authority, client_cert=own.file, client_key=own.key_file)
        async with asking(shown) as engine:
            assert await said(engine) == "hello"


@pytest.mark.parametrize("missing", ["ca_file", "client_cert"])
async def test_a_certificate_that_cannot_be_read_ends_the_start(tmp_path: Path, missing: str) -> None:
    (tmp_path / "broken.pem").write_text("nothing")
    files: dict[str, Any] = {missing: tmp_path / "broken.pem"}
    with pytest.raises(PolicyUnavailableError, match="certificates for OPA"):
        async with asking(OpaAccess(tls=True, **files)):
            pass


@pytest.mark.req("ENG-1", "ENG-3")
async def test_a_token_is_presented_and_a_wrong_one_is_a_denial(
    program: Any, socket_directory: Path, tmp_path: Path
) -> None:
    (tmp_path / "authz.rego").write_text(AUTHORISED)
    more = ("--authentication", "token", "--authorization", "basic", str(tmp_path / "authz.rego"))
    with running_opa(program("opa"), f"unix:{socket_directory}/opa.sock", *more) as server:
        async with asking(OpaAccess(socket=server.path, token="let-me-in")) as engine:
            assert await said(engine) == "hello"
        async with asking(OpaAccess(socket=server.path, token="wrong"), bounds=STRICT) as engine:
            assert await failure(engine) is UNAVAILABLE
            assert "may not ask" in engine.trouble
            assert "wrong" not in engine.trouble


@pytest.mark.req("ENG-1")
async def test_a_token_file_is_read_again_when_it_changes(program: Any, socket_directory: Path, tmp_path: Path) -> None:
    (tmp_path / "authz.rego").write_text(AUTHORISED)
    token = tmp_path / "token"
    token.write_text("old\n")
    more = ("--authentication", "token", "--authorization", "basic", str(tmp_path / "authz.rego"))
    with running_opa(program("opa"), f"unix:{socket_directory}/opa.sock", *more) as server:
        async with asking(OpaAccess(socket=server.path, token_file=token), bounds=STRICT) as engine:
            assert await failure(engine) is UNAVAILABLE
            token.write_text("let-me-in\n")
            await eventually(lambda: engine.ready)


@pytest.mark.req("ENG-3")
async def test_a_token_file_that_is_gone_for_a_while_is_read_when_it_is_back(
    program: Any, socket_directory: Path, tmp_path: Path
) -> None:
    (tmp_path / "authz.rego").write_text(AUTHORISED)
    token = tmp_path / "token"
    token.write_text("wrong\n")
    more = ("--authentication", "token", "--authorization", "basic", str(tmp_path / "authz.rego"))
    with running_opa(program("opa"), f"unix:{socket_directory}/opa.sock", *more) as server:
        async with asking(OpaAccess(socket=server.path, token_file=token), bounds=STRICT) as engine:
            for _ in range(STRICT.failures):
                await failure(engine)
            token.unlink()
            await eventually(lambda: "cannot be read" in engine.trouble)
            await failure(engine)
            token.write_text("let-me-in\n")
            await eventually(lambda: engine.ready)
            assert await said(engine) == "hello"


@pytest.mark.parametrize("content", ["", "two words", "ümlaut", None])
async def test_a_token_file_without_a_token_ends_the_start(tmp_path: Path, content: str | None) -> None:
    token = tmp_path / "token"
    if content is not None:
        token.write_text(content, encoding="utf-8")
    with pytest.raises(PolicyUnavailableError, match="token"):
        async with asking(OpaAccess(token_file=token)):
            pass


@pytest.mark.req("ENG-3")
async def test_proxies_and_passwords_of_the_environment_are_not_used(
    program: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    port = free_port()
    with running_opa(program("opa"), f"http://{ADDRESS}:{port}"):
        async with asking(OpaAccess(host=ADDRESS, port=port)) as engine:
            assert await said(engine) == "hello"


async def test_what_is_sent_holds_the_token_and_nothing_else_of_the_gateway(socket_directory: Path) -> None:
    async with (
        broken_opa(socket_directory / "opa.sock") as opa,
        asking(OpaAccess(host="localhost", socket=str(opa.path), token="abc"), pushes=False) as engine,
    ):
        await said(engine)
        head = opa.requests[-1].split(b"\r\n\r\n")[0].decode().lower()
        names = {line.partition(":")[0] for line in head.split("\r\n")[1:]}
        assert names == {
            "host", "authorization", "content-type", "content-length", "accept", "accept-encoding", "user-agent",
        }  # fmt: skip
        assert "authorization: bearer abc" in head
        assert "accept-encoding: identity" in head


async def test_a_stale_socket_of_a_server_that_was_killed_is_no_server(opa: OpaProcess) -> None:
    async with asking(unix(opa.url), saying("hello"), STRICT) as engine:
        assert opa.process is not None
        await does(opa.process.kill)
        await does(opa.process.wait)
        assert await failure(engine) is UNAVAILABLE
