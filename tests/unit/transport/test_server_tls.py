"""The gateway's certificate follows its files, and a pair that does not fit changes nothing."""

import logging
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from certificates import Authority, Leaf, key_pem
from cryptography.hazmat.primitives.asymmetric import ec
from interlock_gateway.config_server import TlsConfig
from interlock_gateway.errors import ConfigError
from interlock_gateway.transport.tls.server_tls import ServerTls

CA = Authority()
GARBLED = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


def leaf(**changed: Any) -> Leaf:
    return CA.leaf(hosts=("localhost",), **changed)


def config(directory: Path, **changed: Any) -> TlsConfig:
    return TlsConfig(
        **{
            "cert_file": directory / "tls.crt",
            "key_file": directory / "tls.key",
            "client_ca_file": directory / "ca.crt",
            **changed,
        }
    )


def filled(directory: Path, pair: Leaf, authorities: bytes = CA.pem) -> Path:
    pair.written(directory)
    (directory / "ca.crt").write_bytes(authorities)
    return directory


@pytest.fixture
def tls(tmp_path: Path) -> ServerTls:
    return ServerTls(config(filled(tmp_path, leaf())), RealClock())


@pytest.mark.req("AUTH-1")
async def test_a_secret_that_is_swapped_is_loaded_with_everything_in_it(tmp_path: Path) -> None:
    """Kubernetes writes a new directory, and turns one symbolic link to it."""
    first = filled(tmp_path / "..1", leaf())
    data = tmp_path / "..data"
    data.symlink_to(first)
    for name in ("tls.crt", "tls.key", "ca.crt"):
        (tmp_path / name).symlink_to(data / name)
    tls = ServerTls(config(tmp_path), RealClock())
    before = tls.context
    assert not await tls.look()
    assert tls.context is before
    told: list[bool] = []
    tls.when_authorities_change(lambda: told.append(True))
    second = filled(tmp_path / "..2", leaf())
    turned = tmp_path / "..data_tmp"
    turned.symlink_to(second)
    turned.replace(data)
    assert await tls.look()
    assert tls.context is not before
    assert told == []
    (second / "ca.crt").write_bytes(CA.pem + Authority().pem)
    assert await tls.look()
    assert told == [True]
    assert tls.counts == {"loaded": 2, "refused": 0, "failed_handshakes": 0}


@pytest.mark.req("AUTH-1")
async def test_a_pair_that_does_not_fit_keeps_the_old_one_and_is_said_once(
    tls: ServerTls, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before, other = tls.context, leaf()
    (tmp_path / "tls.crt").write_bytes(other.chain)
    with caplog.at_level(logging.WARNING):
        assert not await tls.look()
        assert not await tls.look()
    (record,) = caplog.records
    assert "the key is not the certificate's" in vars(record)["problem"]
    assert other.key.decode() not in str(vars(record))
    assert tls.context is before
    assert "the new one cannot be used" in tls.told
    assert tls.counts["refused"] == 1
    (tmp_path / "tls.key").write_bytes(other.key)
    assert await tls.look()
    assert tls.context is not before
    assert tls.problem == ""


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize("name", ["tls.crt", "tls.key", "ca.crt"])
@pytest.mark.parametrize("content", [None, b"", b"none", GARBLED])
async def test_a_file_that_is_broken_or_gone_is_refused_at_the_start_and_changes_nothing_later(
    tls: ServerTls, tmp_path: Path, name: str, content: bytes | None
) -> None:
    before = tls.context
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert not await tls.look()
    assert tls.context is before
    assert name in tls.problem
    with pytest.raises(ConfigError, match=r"server\.tls cannot be used: "):
        ServerTls(config(tmp_path), RealClock())


@pytest.mark.req("AUTH-1")
async def test_a_certificate_that_has_expired_is_no_new_one(tls: ServerTls, tmp_path: Path) -> None:
    before = tls.context
    leaf(begins=timedelta(hours=-2), ends=timedelta(hours=-1)).written(tmp_path)
    assert not await tls.look()
    assert tls.context is before
    with pytest.raises(ConfigError, match="has expired"):
        ServerTls(config(tmp_path), RealClock())


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(tmp_path: Path) -> None:
    pair = leaf()
    filled(tmp_path, pair)
    key = ec.generate_private_key(ec.SECP256R1())
    (tmp_path / "tls.key").write_bytes(key_pem(key, b"secret"))
    with pytest.raises(ConfigError, match=r"tls\.key"):
        ServerTls(config(tmp_path), RealClock())
