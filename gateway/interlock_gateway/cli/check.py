"""`interlock check`."""

import os
from typing import Annotated

import typer

from interlock_gateway.cli.checks import (
    Check,
    check_artifacts,
    check_audit_key,
    check_database,
    check_listeners,
    check_plugins,
    check_policies,
    check_providers,
    check_state,
)
from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.identity_checks import check_certificates, check_issuers
from interlock_gateway.cli.options import ConfigFile, Output, examples, group
from interlock_gateway.cli.screen import OutputFormat, Screen, Table
from interlock_gateway.config import Config
from interlock_gateway.config_loader import load_config

app = group("Check configuration, policies and connections, without serving.", "")


@app.command(epilog=examples("interlock check --config interlock.yaml", "interlock check --offline --output json"))
def check(
    *,
    config: ConfigFile = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not try to reach providers and issuers of tokens.")
    ] = False,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Check everything that `serve` would need, and change nothing.

    The exit code is 2 when the configuration is wrong, 1 when something else is not as it should be.
    """
    settings = load_config(config, os.environ)
    where = str(config) if config is not None else "defaults and environment"
    found = [Check("configuration", ok=True, detail=where), *_everything(settings, offline=offline)]
    ok = all(one.ok for one in found)
    rows = [(one.what, "ok" if one.ok else "FAILED", one.detail) for one in found]
    Screen(output).show({"ok": ok, "checks": found}, Table(("checked", "result", "detail"), rows))
    raise typer.Exit(ExitCode.OK if ok else ExitCode.REFUSED)


def _everything(settings: Config, *, offline: bool) -> list[Check]:
    found = [check_policies(settings), check_state(settings), check_database(settings)]
    found += [check_audit_key(settings), check_artifacts(settings)]
    found += check_plugins(settings)
    found += check_listeners(settings)
    found += check_certificates(settings)
    return found if offline else [*found, *check_providers(settings), *check_issuers(settings)]
