"""Where a client connects, and what it refuses to say in plain text."""

import pytest
from interlock import Gateway, SyncGateway
from interlock._connection import DEFAULT_ADDRESS, Connection, is_local


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
