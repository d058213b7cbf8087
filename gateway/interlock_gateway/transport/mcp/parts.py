"""What the MCP server needs of the gateway."""

from dataclasses import dataclass, field

from interlock_gateway.approvals.room import ApprovalRoom
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.config_mcp import McpConfig
from interlock_gateway.pipeline.core import CallPipeline
from interlock_gateway.pipeline.parts import Parts
from interlock_gateway.providers.directory import Directory
from interlock_gateway.state.store import SqlStateStore
from interlock_gateway.transport.grpc.endpoint import OpenRpcs
from interlock_gateway.transport.unanswered import Unanswered


def directory_of(parts: "SurfaceParts") -> Directory:
    """The providers, as those who keep them know them."""
    directory = parts.parts.providers
    assert isinstance(directory, Directory), "a running gateway has a directory of its providers"
    return directory


@dataclass(frozen=True, slots=True)
class SurfaceParts:
    """The rooms behind the surface. `version` is the gateway's."""

    config: McpConfig
    parts: Parts
    pipeline: CallPipeline
    artifacts: ArtifactStore
    open_rpcs: OpenRpcs
    version: str
    approvals: ApprovalRoom
    store: SqlStateStore
    unanswered: Unanswered = field(default_factory=Unanswered)
