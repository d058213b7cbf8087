"""`docs/access.md`, printed from `access.yaml`: run as a script it writes the document anew."""

from collections.abc import Iterator
from pathlib import Path

from access_table import ROWS, Row
from interlock_gateway.core.session import Role

DOCUMENT = Path(__file__).parents[3] / "docs" / "access.md"
INTRODUCTION = """\
# Who may call what

<!-- Printed from tests/integration/gateway/access.yaml by access_document.py beside it; do not edit by hand. -->

Every RPC that the gateway knows, from the protos. A test fails for an RPC, or a field of a request that names
something, without a row here; another plays the table whole against a gateway. How callers prove who they are is in
[identity.md](identity.md).

## By role

A caller without credentials is *nobody*, and hears `UNAUTHENTICATED`; where `identity.anonymous_agents_on_loopback`
lets anybody in, it is an agent with the principal `anonymous`. A caller who holds none of the roles hears
`ROLE_REQUIRED`. The agents' socket serves `GatewayService`, `ProviderHubService`, health and reflection alone. What
providers serve is `UNIMPLEMENTED`.
"""
OWNERS = """\
## By owner

A session belongs to the principal that opened it, with every call, operation, pending action and artifact in it. The
*owner* is the principal's id: whoever the configuration gives the same id is the same principal, however they come
in.

- Who names another's session hears `NOT_YOUR_SESSION`, in the same words whatever else is named with it: there or
  not, and whether the session is open or closed.
- Who names, in a session of their own, what is not in it hears what the last column says. It makes no difference
  whether it is in another's session, is the id of something else, or is nowhere.
- The gateway's own tools (`resolve`, `read_artifact`, `search_artifact`) give out no more than the RPCs.
- A batch with another's call in it is refused whole.
- An approver sees the checkpoints of their groups, those for everybody, and their own calls'. About another group's
  checkpoint they hear `APPROVER_GROUP_REQUIRED`, with the groups; its id is random, and nothing else of it is shown.
- Operators and auditors look at every session; what they name belongs to nobody.

| RPC | its request names | a session that nobody has | in a session of one's own, what is not there |
|---|---|---|---|
"""


def document() -> str:
    """The document, as it is committed."""
    return "\n".join((INTRODUCTION, *_by_role(), "", OWNERS + "\n".join(_by_owner()), ""))


def _by_role() -> Iterator[str]:
    columns = [*Role, "nobody"]
    yield f"| RPC | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, row in ROWS.items():
        may = [row.anybody or role in row.roles for role in Role]
        marks = ["yes" if one else "" for one in (*may, row.anybody)]
        yield f"| `{name}` | {' | '.join(marks)} |" if row.is_served else f"| `{name}` |{' |' * len(columns)}"


def _by_owner() -> Iterator[str]:
    for name, row in ROWS.items():
        if row.names:
            named = ", ".join(f"{_a(kind)} (`{field}`)" for field, kind in row.names.items())
            yield f"| `{name}` | {named} | {_said(row.unknown)} | {_absent(row)} |"


def _absent(row: Row) -> str:
    return ", ".join(f"`{field}`: {_said(said)}" for field, said in row.absent.items())


def _said(said: str) -> str:
    return {"": "", "OK": "goes on"}.get(said, f"`{said}`")


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "ao" else f"a {kind}"


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
