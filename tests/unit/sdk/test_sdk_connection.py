"""Where a client connects, and what it refuses to say in plain text."""

from pathlib import Path

import pytest
from certificates import Authority
from interlock import Gateway, SyncGateway
from interlock._connection import DEFAULT_ADDRESS, TLS_VARIABLES, Connection, is_local
from interlock.tls import ClientTls, ServerTls


@pytest.mark.req("SDK-1")
def test_the_environment_fills_in_what_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_ADDRESS", "unix:/run/interlock.sock")
    monkeypatch.setenv("INTERLOCK_TOKEN", "t0p")
    found = SyncGateway().connection
    assert found.address == "unix:/run/interlock.sock"
    assert found.metadata == (("authorization", "Bearer t0p"),)


def test_what_is_given_beats_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_ADDRESS", "unix:/run/interlock.sock")
    monkeypatch.setenv("INTERLOCK_TOKEN", "t0p")
    found = Gateway("127.0.0.1:1", token="mine").connection
    assert (found.address, found.metadata) == ("127.0.0.1:1", (("authorization", "Bearer mine"),))


def test_without_anything_it_is_the_gateway_of_this_machine_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLOCK_ADDRESS", raising=False)
    monkeypatch.delenv("INTERLOCK_TOKEN", raising=False)
    found = Connection()
    assert (found.address, found.metadata) == (DEFAULT_ADDRESS, ())


@pytest.mark.parametrize(
    "address", ["unix:/a", "unix:///a", "localhost:1", "127.0.0.1:1", "ipv4:127.9.9.9:1", "[::1]:1"]
)
def test_local_addresses_speak_plain_text(address: str) -> None:
    assert is_local(address)
    assert Connection(address).secure() is None


@pytest.mark.parametrize(
    "address", ["gateway:7080", "dns:///gateway:7080", "10.0.0.1:7080", "127.0.0.1.example.com:1", "localhost.evil:1"]
)
def test_other_machines_are_spoken_to_in_tls_unless_plain_text_is_said(address: str) -> None:
    assert not is_local(address)
    assert Connection(address).secure() is not None
    assert Connection(address, plaintext=True).secure() is None


def test_plain_text_and_certificates_cannot_both_be_meant() -> None:
    with pytest.raises(ValueError, match="plaintext"):
        Connection("gateway:1", root_certificates=b"pem", plaintext=True)


def test_a_token_is_not_shown() -> None:
    assert "s3cret" not in repr(Connection("127.0.0.1:1", token="s3cret"))


@pytest.fixture
def pair(tmp_path: Path) -> ClientTls:
    authority = Authority()
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    return ClientTls(tmp_path / "ca.pem", *authority.leaf(hosts=("gateway",)).written(tmp_path))


@pytest.mark.req("SDK-1")
def test_certificates_in_files_are_read_when_the_channel_is_opened(pair: ClientTls) -> None:
    assert Connection("127.0.0.1:1", tls=pair).secure() is not None
    assert ("grpc.ssl_target_name_override", "other") in Connection("g:1", tls=ClientTls(server_name="other")).options


@pytest.mark.req("SDK-1")
def test_the_environment_names_certificates_for_tcp_alone(pair: ClientTls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLOCK_CA_FILE", str(pair.ca_file))
    assert Connection("127.0.0.1:1").tls == ClientTls(ca_file=str(pair.ca_file))
    assert Connection("127.0.0.1:1").secure() is not None
    assert Connection("unix:/run/i.sock").secure() is None
    assert Connection("127.0.0.1:1", plaintext=True).secure() is None
    assert Connection("127.0.0.1:1", tls=pair).tls == pair
    assert set(TLS_VARIABLES) == set(ClientTls.__slots__)


@pytest.mark.parametrize("file", ["ca_file", "cert_file", "key_file"])
def test_files_that_cannot_be_used_are_said_with_their_names(pair: ClientTls, file: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("-----BEGIN NOTHING-----", encoding="utf-8")
    files = {name: getattr(pair, name) for name in ("ca_file", "cert_file", "key_file")}
    with pytest.raises(ValueError, match=r"broken|tls\.crt"):
        Connection("g:1", tls=ClientTls(**(files | {file: broken}))).secure()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Connection("g:1", tls=ClientTls(**(files | {file: tmp_path / "nowhere"}))).secure()


def test_what_contradicts_itself_is_refused(pair: ClientTls) -> None:
    for refused in (
        lambda: ClientTls(key_file="a.key"),
        lambda: Connection("unix:/run/i.sock", tls=pair),
        lambda: Connection("g:1", tls=pair, root_certificates=b"pem"),
        lambda: Connection("g:1", tls=pair, plaintext=True),
        lambda: ServerTls("a.crt", clients=["CN=a"]),
        lambda: ServerTls("a.crt", client_ca_file="ca.pem", clients=[""]),
    ):
        with pytest.raises(ValueError, match=r"."):
            refused()
    with pytest.raises(TypeError, match="several"):
        ServerTls("a.crt", client_ca_file="ca.pem", clients="CN=a")
