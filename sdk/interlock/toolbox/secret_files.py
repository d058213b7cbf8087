"""Files that usually hold secrets: what searches through directories leaves out, whatever policy says of the call.

The names are those of the gateway's shipped setting `file` (`policies/interlock/settings/file/data.yaml`).
"""

from collections.abc import Sequence

DIRECTORIES = frozenset({".aws", ".azure", ".gnupg", ".kube", ".ssh"})
NAMES = frozenset(
    {
        *(".env", ".git-credentials", ".htpasswd", ".netrc", ".npmrc", ".pgpass", ".pypirc", ".vault-token", "_netrc"),
        *("credentials.json", "id_dsa", "id_ecdsa", "id_ed25519", "id_rsa", "secrets.json", "secrets.yaml"),
        *("secrets.yml", "service-account.json"),
    }
)
EXTENSIONS = frozenset({"asc", "gpg", "jks", "kdbx", "key", "keystore", "p12", "pem", "pfx"})
PREFIXES = (".env.",)
PUBLIC = frozenset({".env.dist", ".env.example", ".env.sample", ".env.template"})


def secret(parts: Sequence[str]) -> bool:
    """Whether a file is named like one that holds secrets, or lies in a directory of such; whatever the case."""
    lowered = [part.lower() for part in parts]
    name = lowered[-1] if lowered else ""
    _, dot, extension = name.rpartition(".")
    return (
        name in NAMES
        or (bool(dot) and extension in EXTENSIONS)
        or (name.startswith(PREFIXES) and name not in PUBLIC)
        or not DIRECTORIES.isdisjoint(lowered)
    )
