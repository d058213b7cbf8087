"""`interlock config`."""

import os
import re
from typing import Any

import typer
import yaml

from interlock_gateway.cli.options import ConfigFile, Output, examples, group
from interlock_gateway.cli.screen import OutputFormat, Screen, Text
from interlock_gateway.config import Config
from interlock_gateway.config_loader import load_config
from interlock_gateway.config_loader.reference import schema_text

app = group(
    "Show the configuration in force, or its schema.", examples("interlock config show --config interlock.yaml")
)
MASK = "***"
# Of a database's URL; what stands before an @ is masked as a whole.
_QUERY = re.compile(r"(?<=\?)[^#]*")
_PASSWORD = re.compile(r"(?<=[?&]password=)[^&]*|(?<=[?&]sslpassword=)[^&]*")


@app.command(epilog=examples("interlock config show", "interlock config show --config interlock.yaml --output json"))
def show(*, config: ConfigFile = None, output: Output = OutputFormat.TABLE) -> None:
    """Print every setting as it holds: the environment over the file over the default. Secrets are masked."""
    document = effective(load_config(config, os.environ))
    Screen(output).show(document, Text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True).rstrip()))


@app.command(epilog=examples("interlock config schema > interlock.schema.json"))
def schema() -> None:
    """Print the JSON Schema of the configuration file, for editors and charts."""
    typer.echo(schema_text(), nl=False)


def effective(config: Config) -> dict[str, Any]:
    """The configuration as values, without what is secret in it."""
    document = config.model_dump(mode="json", exclude_none=True)
    for shown in (*document["providers"], *document["provider_credentials"].values()):
        shown["token"] = MASK if shown["token"] else ""
        for holder in (shown, shown.get("mcp") or {}):
            for secrets in ("headers", "environment"):
                if secrets in holder:
                    holder[secrets] = dict.fromkeys(holder[secrets], MASK)
            if "url" in holder:
                holder["url"] = _QUERY.sub(MASK, holder["url"])
    opa = document["policy"]["opa"]
    opa["token"] = MASK if opa["token"] else ""
    for webhook in document["approvals"]["webhooks"]:
        webhook.update({key: MASK for key in ("url", "secret") if webhook[key]})
    before, at, after = document["state"]["database"].rpartition("@")
    if at:
        scheme = before.partition("://")[0]
        document["state"]["database"] = f"{scheme}://{MASK}@{after}"
    document["state"]["database"] = _PASSWORD.sub(MASK, document["state"]["database"])
    return document
