"""The part of the configuration about an OPA server that decides (ENG-1, ENG-3)."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from interlock_gateway.config_section import Bytes, Section


class OpaBreakerConfig(Section):
    """When a server that fails is left alone."""

    failures: Annotated[int, Field(ge=1, le=1000)] = 5
    """Failures in a row after which calls are denied at once, and the server is tried with one question at a time."""
    retry_s: Annotated[float, Field(ge=0.01, le=60)] = 0.5
    """After how many seconds it is tried first; each time it fails again, twice as long."""
    longest_retry_s: Annotated[float, Field(ge=0.01, le=300)] = 10.0
    """How long it is left alone at most."""


class OpaConfig(Section):
    """The OPA server of `policy.engine: opa`."""

    url: str = "http://127.0.0.1:8181"
    """Where it listens: `http://HOST:PORT`, `https://HOST:PORT`, or `unix:PATH`; `{state}` is the state directory."""
    policies: Literal["push", "bundle"] = "push"
    """`push`: the gateway brings it the policies; `bundle`: it loads a bundle itself, and the gateway reads that back
    and checks it before it may decide."""
    accept_unchecked_policies: bool = False
    """With `bundle`: let whatever OPA has decide, unread and unchecked, for an OPA that does not let its policies be
    read. Then nobody but you sees to it that they reach neither network, environment nor clock, and are none of old."""
    token: str = ""
    """Bearer token presented to it. Best given as `INTERLOCK__POLICY__OPA__TOKEN`, or in a file."""
    token_file: Path | None = None
    """A file that holds the token, in place of `token`. It is read again when it changes."""
    ca_file: Path | None = None
    """The authorities, in PEM, that its certificate is checked against; without one, the system's."""
    client_cert: Path | None = None
    """The gateway's own certificate, in PEM, for a server that asks for one."""
    client_key: Path | None = None
    """The key of `client_cert`, unless the same file holds it. It has no password."""
    plaintext_beyond_loopback: bool = False
    """Accept `http://` to other hosts. Off: whoever is on the way could decide about calls."""
    timeout_s: Annotated[float, Field(gt=0, le=10)] = 0.25
    """The longest one decision may take, with everything that is tried for it; past it the call is denied."""
    max_connections: Annotated[int, Field(ge=1, le=1000)] = 32
    """Calls that ask at once, each on a connection that is used again."""
    max_waiting: Annotated[int, Field(ge=0, le=10_000)] = 256
    """Calls that wait for one of them; more are denied at once."""
    max_answer_bytes: Bytes = 1024 * 1024
    """The largest answer that is read."""
    breaker: OpaBreakerConfig = OpaBreakerConfig()
