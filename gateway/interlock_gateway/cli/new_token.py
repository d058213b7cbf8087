"""`interlock token`."""

from typing import Annotated

import typer
import yaml

from interlock_gateway.cli.options import Output, examples, group
from interlock_gateway.cli.screen import Fields, OutputFormat, Screen, Text
from interlock_gateway.core.session import Role
from interlock_gateway.identity.authenticate import new_token

app = group("Make a token.", "")


@app.command(epilog=examples("interlock token --principal ci-agent", "interlock token --principal sre --role operator"))
def token(
    *,
    principal: Annotated[str, typer.Option(help="Whose token it is, as it appears in policies and receipts.")],
    role: Annotated[
        list[Role] | None, typer.Option(help="What its bearer may do: an agent unless said otherwise.")
    ] = None,
    member_of: Annotated[
        list[str] | None, typer.Option("--group", help="A group its bearer belongs to. Can be given several times.")
    ] = None,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Make a token, shown this once, and the entry that the configuration holds of it.

    The entry has the token's SHA-256 and not the token: nobody can get it back from there.
    """
    secret, digest = new_token()
    entry = {
        "principal": principal,
        "sha256": digest,
        "roles": [one.value for one in role or (Role.AGENT,)],
        "groups": member_of or [],
    }
    wanted = {key: value for key, value in entry.items() if value}
    Screen(output).show(
        {"token": secret, **entry},
        Fields((("token", secret),)),
        Text(yaml.safe_dump({"identity": {"tokens": [wanted]}}, sort_keys=False), title="in the configuration"),
        Text("The token is not kept anywhere. Its bearer sends it as `authorization: Bearer`, or in INTERLOCK_TOKEN."),
    )
