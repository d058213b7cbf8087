"""Keys that tests sign bundles with, and small bundles to sign."""

import json
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from interlock_gateway.policy.bundles.building import packed
from interlock_gateway.policy.bundles.keys import SigningKey, VerificationKey, signing_key, verification_key
from interlock_gateway.policy.bundles.signing import SIGNATURES, sign_files

CURVES: dict[str, Any] = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}


@dataclass(frozen=True)
class KeyFiles:
    """One key in two files, as OPA takes them too; for a secret both are the same."""

    algorithm: str
    private: Path
    public: Path

    def signing(self, key_id: str = "k", scope: str = "") -> SigningKey:
        return signing_key(self.private, self.algorithm, key_id, scope)

    def verifying(self, key_id: str = "k", scope: str = "") -> VerificationKey:
        return verification_key(self.public, self.algorithm, key_id, scope)


@cache
def _rsa() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def key_files(directory: Path, algorithm: str = "ES256", name: str = "key") -> KeyFiles:
    """Write a new key (of RSA always the same one, because making one takes long)."""
    directory.mkdir(parents=True, exist_ok=True)
    private, public = directory / f"{name}.pem", directory / f"{name}.pub"
    if algorithm.startswith("HS"):
        private.write_text(f"a secret of at least sixty-four bytes, which is what HS512 takes: {name}")
        return KeyFiles(algorithm, private, private)
    key: Any = ec.generate_private_key(CURVES[algorithm]()) if algorithm in CURVES else _rsa()
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return KeyFiles(algorithm, private, public)


def small_files(word: str = "first", sequence: int | None = 1) -> dict[str, bytes]:
    """The files of a small whole bundle that allows everything and says `word`."""
    source = f'package interlock\n\ndecision := {{"verdict": "allow", "notes": ["{word}"]}}\n'
    ours: dict[str, Any] = {"kind": "policy"} if sequence is None else {"kind": "policy", "sequence": sequence}
    manifest = {"revision": word, "roots": ["interlock"], "metadata": {"interlock": ours}}
    return {
        "main.rego": source.encode(),
        "data.json": json.dumps({"interlock": {"profile": "standard", "word": word}}).encode(),
        ".manifest": json.dumps(manifest).encode(),
    }


def signed_bundle(files: dict[str, bytes], key: SigningKey, issued_at: int = 1) -> bytes:
    """The bundle of these files, signed."""
    return packed({**files, SIGNATURES: sign_files(files, key, issued_at=issued_at)})


def run_opa(opa: Path, *arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run OPA; what it says is for the test to look at."""
    return subprocess.run(
        [str(opa), *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False, timeout=60
    )
