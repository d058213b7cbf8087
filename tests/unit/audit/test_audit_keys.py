import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from interlock_gateway.audit.keys import VerifyKey, load_or_create, may_others_read
from interlock_gateway.errors import ConfigError


@pytest.mark.req("AUD-1")
def test_a_key_is_made_once_and_readable_by_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "state" / "key.pem"
    made = load_or_create(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = load_or_create(path)
    assert again.public.key_id == made.public.key_id
    public = VerifyKey.from_pem(path.with_name("key.pem.pub").read_bytes())
    assert public.accepts(made.sign(b"message"), b"message")
    assert not public.accepts(made.sign(b"message"), b"another")


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    load_or_create(path)
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="0600"):
        load_or_create(path)


@pytest.mark.parametrize(
    ("mode", "owner", "open_to_others"),
    [(0o600, 1000, False), (0o640, 1000, True), (0o440, 0, False), (0o460, 0, True), (0o444, 0, True)],
)
def test_a_group_may_read_a_key_that_root_put_there(mode: int, owner: int, open_to_others: bool) -> None:
    status = os.stat_result((stat.S_IFREG | mode, 0, 0, 1, owner, 65532, 0, 0, 0, 0))
    assert may_others_read(status) is open_to_others


def test_what_is_not_an_ed25519_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(b"no key")
    path.chmod(0o600)
    with pytest.raises(ConfigError, match="PEM"):
        load_or_create(path)
    other = generate_private_key(SECP256R1())
    pem = other.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(pem)
    with pytest.raises(ConfigError, match="Ed25519"):
        load_or_create(path)
    public = other.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with pytest.raises(ConfigError, match="Ed25519"):
        VerifyKey.from_pem(public)
