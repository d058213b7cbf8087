"""Files that usually hold secrets: what searches through directories leaves out, whatever policy says of the call.

The names are those of the gateway's shipped setting `file` (`policies/interlock/settings/file/data.yaml`).
"""

from collections.abc import Sequence

DIRECTORIES = frozenset({".aws", ".azure", ".gnupg", ".kube", ".password-store", ".ssh"})
NAMES = frozenset(
    {
        *(".bash_history", ".boto", ".dev.vars", ".dockercfg", ".env", ".envrc", ".env~", ".git-credentials"),
        *(".htpasswd", ".my.cnf", ".mysql_history", ".netrc", ".node_repl_history", ".npmrc", ".npmrc.bak"),
        *(".npmrc~", ".pgpass", ".psql_history", ".pypirc", ".pypirc.bak", ".pypirc~", ".python_history"),
        *(".rediscli_history", ".s3cfg", ".sqlite_history", ".terraformrc", ".vault-token", ".vault_pass"),
        *(".zsh_history", "_netrc", "api.env", "app.env", "application_default_credentials.json"),
        *("backend.env", "client_secret.json", "client_secrets.json", "credentials.env", "credentials.json"),
        *("credentials.tfrc.json", "database.env", "db.env", "dev.env", "development.env", "docker.env"),
        *("id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk", "id_rsa", "kubeconfig"),
        *("local.env", "prod.env", "production.env", "rclone.conf", "secret.env", "secrets.env"),
        *("secrets.ini", "secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml", "server.env"),
        *("service-account.json", "service_account.json", "serviceaccount.json", "serviceaccountkey.json"),
        *("staging.env", "terraform.tfstate.backup", "vault-password.txt", "vault_pass.txt", "web.env"),
    }
)
EXTENSIONS = frozenset(
    {
        *("agekey", "asc", "gpg", "jceks", "jks", "kdb", "kdbx", "key", "keystore", "kubeconfig", "ovpn"),
        *("p12", "p8", "pem", "pfx", "pkcs12", "ppk", "tfstate"),
    }
)
PLACES = frozenset(
    {
        ".cargo/credentials",
        ".cargo/credentials.toml",
        ".docker/config.json",
        ".gem/credentials",
        ".git/credentials",
        ".m2/settings.xml",
        "gcloud/access_tokens.db",
        "gcloud/credentials.db",
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
