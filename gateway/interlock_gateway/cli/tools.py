"""`interlock tools`: what an agent sees, and what an operator consents to (TOOL-3, TOOL-5)."""

import json
from typing import Annotated, Any

import typer
from interlock.tools import Tool, ToolList

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.options import AgentAddress, OperatorAddress, Output, Session, examples, group
from interlock_gateway.cli.provider_view import declared_table, difference_table
from interlock_gateway.cli.reaching import agent_gateway, operator
from interlock_gateway.cli.screen import Fields, OutputFormat, Screen, Table, Text
from interlock_gateway.registry.registry import GATEWAY_PROVIDER

app = group("List tools; confirm or approve what providers declare.", "")
SAFETY = ("cannot be previewed or undone", "can be undone", "is previewed first")
_SHORT = 72
Provider = Annotated[str, typer.Argument(help="The provider's name.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask; for scripts that looked before.")]
Why = Annotated[str, typer.Option("--reason", help="Why; it is kept.")]


@app.callback(
    invoke_without_command=True,
    no_args_is_help=False,
    epilog=examples(
        "interlock tools",
        "interlock tools --search 'send a letter'",
        "interlock tools --session session-1f2e --activate send_mail",
    ),
)
def tools(
    ctx: typer.Context,
    *,
    search: Annotated[str, typer.Option("--search", help="Find deferred tools by these words instead.")] = "",
    activate: Annotated[
        list[str] | None,
        typer.Option("--activate", help="Make this deferred tool callable in the session; may be given repeatedly."),
    ] = None,
    session: Session = "",
    address: AgentAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """List the tools that an agent's session sees now, safest first; or find and activate those that are deferred."""
    if ctx.invoked_subcommand is not None:
        return
    screen = Screen(output)
    if search:
        _show_found(screen, search, session, address)
        return
    if activate:
        _show_activated(screen, activate, session, address)
        return
    listed = _listed(session, address)
    rows = [
        (one.name, one.classification.effect, _safety(one), one.min_confidence or None, one.provider, _short(one))
        for one in listed.tools
    ]
    screen.show(listed, Table(("tool", "effect", "safety", "confidence", "provider", "does"), rows, empty="no tools"))
    if not listed.deferred and all(one.provider == GATEWAY_PROVIDER for one in listed.tools):
        screen.hint("\nThese are the gateway's own. `interlock providers` says why there are no others.")
    if listed.required_tool:
        screen.hint(f"\nSomething is pending: the next call has to be {listed.required_tool}")
    if listed.deferred:
        screen.hint(f"\n{listed.deferred} more tools are deferred: find them with `interlock tools --search WORDS`")


@app.command(epilog=examples("interlock tools show write", "interlock tools show write --output json"))
def show(
    name: Annotated[str, typer.Argument(help="The tool's name or alias.")],
    *,
    session: Session = "",
    address: AgentAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Show one tool: what a model reads about it, and the schema of its input."""
    listed = _listed(session, address)
    found = next((one for one in listed.tools if name in (one.name, *one.aliases)), None)
    if found is None:
        others = "; others are deferred: `interlock tools --search WORDS`" if listed.deferred else ""
        raise CommandError(f"there is no tool {name} here; `interlock tools` lists them{others}")
    facts = (
        ("tool", found.name),
        ("aliases", found.aliases),
        ("provider", found.provider),
        ("effect", found.classification.effect),
        ("safety", _safety(found)),
        ("minimum confidence", found.min_confidence or None),
    )
    schema = json.dumps(dict(found.input_schema), indent=2, ensure_ascii=False)
    Screen(output).show(found, Fields(facts), Text(found.description), Text(schema, title="input"))


@app.command(
    epilog=examples("interlock tools confirm docs", "interlock tools confirm docs --yes --reason 'reviewed in PR 12'")
)
def confirm(
    provider: Provider,
    *,
    yes: Yes = False,
    reason: Why = "",
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Consent to what a provider's tools declare, after showing it; until then they count as undeclared.

    What is confirmed is what was shown: a definition that changes in between fails the whole consent.
    """
    screen = Screen(output)
    with operator(address) as admin:
        declared = admin.provider_tools(provider)
        if not declared:
            raise CommandError(f"{provider} has no tools; `interlock providers` lists the providers")
        if not screen.is_json:
            screen.show(None, declared_table(provider, declared))
        _agree(f"Take what {provider} declares as true?", yes=yes)
        confirmed = admin.confirm_provider_tools(provider, {one.name: one.current_hash for one in declared}, reason)
    screen.show({"confirmed": list(confirmed)}, Text(f"confirmed {len(confirmed)} tools of {provider}"))


@app.command(
    epilog=examples("interlock tools approve docs search", "interlock tools approve docs search --yes --reason 'v2'")
)
def approve(
    provider: Provider,
    tool: Annotated[str, typer.Argument(help="The changed tool's name.")],
    *,
    yes: Yes = False,
    reason: Why = "",
    address: OperatorAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Take a changed tool out of quarantine, after showing what changed since it was pinned."""
    screen = Screen(output)
    with operator(address) as admin:
        found = next((one for one in admin.provider_tools(provider) if one.name == tool), None)
        if found is None:
            raise CommandError(f"{provider} has no tool {tool}; `interlock tools` lists the tools")
        if not found.differences:
            screen.show(found, Text(f"{tool} is the definition that was pinned: there is nothing to approve"))
            return
        if not screen.is_json:
            screen.show(None, difference_table(found))
        _agree(f"Accept the changed {tool}?", yes=yes)
        approved = admin.approve_tool_change(provider, tool, found.current_hash, reason)
    screen.show(approved, Text(f"approved {tool} of {provider}"))


def _show_found(screen: Screen, words: str, session: str, address: str) -> None:
    with agent_gateway(address) as gateway:
        found = gateway.session(session).search_tools(words)
    rows = [(hit.name, hit.classification.effect, _first_line(hit.title or hit.description)) for hit in found]
    screen.show({"matches": found}, Table(("tool", "effect", "does"), rows, empty="no deferred tool matches"))


def _show_activated(screen: Screen, names: list[str], session: str, address: str) -> None:
    with agent_gateway(address) as gateway:
        used = gateway.session(session)
        done = used.activate_tools(names)
    screen.show(
        {"session_id": used.session_id, "activated": [one.name for one in done.activated], "unknown": done.unknown},
        Fields((("callable now", [one.name for one in done.activated]), ("unknown", done.unknown))),
    )
    screen.hint(f"\nsession {used.session_id}")
    if done.unknown:
        raise typer.Exit(ExitCode.REFUSED)


def _listed(session: str, address: str) -> ToolList:
    """What a session sees, or would see: looking opens none."""
    with agent_gateway(address) as gateway:
        return gateway.session(session).tools()


def _agree(question: str, *, yes: bool) -> None:
    if yes:
        return
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        agreed = False
    if not agreed:
        raise CommandError("nothing was changed; --yes consents without a question", ExitCode.REFUSED)


def _safety(tool: Tool) -> Any:
    if not tool.callable:
        return "changed: denied until approved"
    return "changes nothing" if tool.classification.effect == "read_only" else SAFETY[tool.classification.safety_level]


def _short(tool: Tool) -> str:
    return _first_line(tool.title or tool.description)


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 3]}..."
