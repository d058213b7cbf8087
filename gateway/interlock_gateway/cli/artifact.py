"""`interlock artifact`."""

import sys
from typing import Annotated

import typer

from interlock_gateway.cli.exit_codes import ExitCode
from interlock_gateway.cli.failures import CommandError
from interlock_gateway.cli.options import AgentAddress, Output, Session, examples, group
from interlock_gateway.cli.reaching import agent_gateway
from interlock_gateway.cli.screen import Fields, OutputFormat, Screen, Table, Text

_EXAMPLE = "artifact://session-1f2e/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
app = group("Read, search and describe stored results.", examples(f"interlock artifact read {_EXAMPLE}"))
Uri = Annotated[str, typer.Argument(help="The artifact's URI, as a result gave it.")]


@app.command(
    epilog=examples(
        f"interlock artifact read {_EXAMPLE} --line 200 --lines 50",
        f"interlock artifact read {_EXAMPLE} --raw > whole.log",
    )
)
def read(
    uri: Uri,
    *,
    line: Annotated[int, typer.Option(min=0, help="The first line wanted, from 1.")] = 0,
    lines: Annotated[int, typer.Option(min=0, help="How many lines.")] = 0,
    offset: Annotated[int, typer.Option(min=0, help="The first byte wanted, from 0.")] = 0,
    length: Annotated[int, typer.Option(min=0, help="How many bytes.")] = 0,
    raw: Annotated[bool, typer.Option("--raw", help="Its bytes as they are; never to a terminal.")] = False,
    session: Session = "",
    address: AgentAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Read a stored result: all of it, some lines, or some bytes. What could act on a terminal is made visible."""
    if raw and sys.stdout.isatty():
        raise CommandError("--raw is refused on a terminal, which its bytes could act on", ExitCode.USAGE)
    with agent_gateway(address) as gateway:
        part = gateway.session(session).read_artifact(uri, offset=offset, length=length, first_line=line, lines=lines)
    if raw:
        sys.stdout.buffer.write(part.data)
        return
    Screen(output).show(part, Text(part.text))


@app.command(
    epilog=examples(
        f"interlock artifact search {_EXAMPLE} ERROR --context 2",
        f"interlock artifact search {_EXAMPLE} 'time[a-z]+' --regex",
    )
)
def search(
    uri: Uri,
    pattern: Annotated[str, typer.Argument(help="The text to find.")],
    *,
    regex: Annotated[bool, typer.Option("--regex", help="It is a regular expression (RE2).")] = False,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="Take A and a as the same.")] = False,
    context: Annotated[int, typer.Option(min=0, help="How many lines around each match.")] = 0,
    limit: Annotated[int, typer.Option("--max", min=0, help="The most matches; 0 is the gateway's own limit.")] = 0,
    session: Session = "",
    address: AgentAddress = "",
    output: Output = OutputFormat.TABLE,
) -> None:
    """Find lines in a stored result. The exit code is 1 when there are none."""
    with agent_gateway(address) as gateway:
        found = gateway.session(session).search_artifact(
            uri,
            "" if regex else pattern,
            pattern=pattern if regex else "",
            ignore_case=ignore_case,
            context_lines=context,
            max_matches=limit,
        )
    screen = Screen(output)
    rows = [(match.line, "\n".join((*match.before, match.text, *match.after))) for match in found.matches]
    texts = "\n".join(f"{number}: {text}" for number, text in rows)
    screen.show(found, Text(texts) if rows else Table((), (), empty="no line matches"))
    if found.more_matches:
        screen.hint("there are more matches; --max asks for more")
    if found.timed_out:
        screen.hint("the search ran out of time before the end")
    raise typer.Exit(ExitCode.OK if rows else ExitCode.REFUSED)


@app.command(epilog=examples(f"interlock artifact stat {_EXAMPLE}"))
def stat(uri: Uri, *, session: Session = "", address: AgentAddress = "", output: Output = OutputFormat.TABLE) -> None:
    """Describe a stored result without reading it."""
    with agent_gateway(address) as gateway:
        about = gateway.session(session).stat_artifact(uri)
    Screen(output).show(
        about,
        Fields(
            (
                ("uri", about.uri),
                ("bytes", about.total_bytes),
                ("lines", about.lines or None),
                ("media type", about.media_type),
                ("sha256", about.sha256),
                ("created", about.created_at),
            )
        ),
    )
