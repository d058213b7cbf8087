"""Files that usually hold secrets: what searches through directories leaves out, whatever policy says of the call.

The names are those of the gateway's shipped setting `file` (`policies/interlock/settings/file/data.yaml`).
"""

from collections.abc import Sequence

DIRECTORIES = frozenset({".aws", ".azure", ".gnupg", ".kube", ".ssh"})
NAMES = frozenset(
    {
        *(".bash_history", ".boto", ".dockercfg", ".env", ".envrc", ".env~", ".git-credentials"),
        *(".htpasswd", ".my.cnf", ".mysql_history", ".netrc", ".npmrc", ".npmrc.bak", ".npmrc~", ".pgpass"),
        *(".psql_history", ".pypirc", ".pypirc.bak", ".pypirc~", ".python_history", ".s3cfg"),
        *(".vault-token", ".zsh_history", "_netrc", "app.env", "application_default_credentials.json"),
        *("client_secret.json", "client_secrets.json", "credentials.env", "credentials.json"),
        *("database.env", "db.env", "dev.env", "development.env", "docker.env", "id_dsa", "id_ecdsa"),
        *("id_ed25519", "id_rsa", "kubeconfig", "local.env", "prod.env", "production.env", "rclone.conf"),
        *("secret.env", "secrets.env", "secrets.json", "secrets.yaml", "secrets.yml"),
        *("service-account.json", "staging.env", "terraform.tfstate.backup"),
    }
)
EXTENSIONS = frozenset({"asc", "gpg", "jks", "kdbx", "key", "keystore", "kubeconfig", "p12", "pem", "pfx", "tfstate"})
PLACES = frozenset(
    {
        ".cargo/credentials",
        ".cargo/credentials.toml",
        ".docker/config.json",
        ".gem/credentials",
        ".git/credentials",
        "gh/hosts.yml",
        "git/credentials",
    }
)
PREFIXES = (".env.", ".git-credentials.", ".netrc.", ".netrc~", ".pgpass.")
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
        or "/".join(lowered[-2:]) in PLACES
        or not DIRECTORIES.isdisjoint(lowered)
    )
