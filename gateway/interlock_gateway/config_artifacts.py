"""The part of the configuration about artifacts: where they are kept, how much, and for how long (ART-2, ART-4)."""

from typing import Annotated

from pydantic import Field

from interlock_gateway.config_section import Seconds, Section

StoreBytes = Annotated[int, Field(ge=1, le=1 << 60)]


class RetentionConfig(Section):
    """When artifacts go, the oldest first: never those of an open session, nor of one with something pending."""

    max_age_s: Annotated[float, Field(gt=0, le=10 * 366 * 86_400)] | None = 30 * 86_400.0
    """The age at which an artifact goes, once its session is closed; `null`: none is too old."""
    max_total_bytes: StoreBytes | None = 10 * 1024**3
    """The most bytes in the store. From 90 % on the oldest go; what would exceed it is not kept. `null`: no limit."""
    idle_session_s: Annotated[float, Field(gt=0, le=10 * 366 * 86_400)] | None = None
    """An open session in which nothing was stored for so long counts as closed here, for agents that never close
    theirs; `null`: it never does. What it stores next is kept, and what is left of the rest too."""
    every_s: Seconds = 300.0
    """How often the store is swept, by one of the gateways that share it."""


class ArtifactsConfig(Section):
    """Where large results go."""

    url: str = "file://{state}/artifacts"
    """Object store: `file://`, `s3://`, `gs://` or `az://`; each database needs a place of its own in it."""
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 15.0
    """How long storing one result may take, or one answer of the store; then it counts as failed."""
    max_session_bytes: StoreBytes = 1024**3
    """The most bytes of one session's artifacts; further large results are shortened, and the whole is not kept."""
    max_principal_bytes: StoreBytes | None = None
    """The most bytes of all sessions of one principal. From 90 % on the oldest of its artifacts go; what would exceed
    it is not kept. `null`: four fifths of `retention.max_total_bytes`, so that nobody has all of the store."""
    retention: RetentionConfig = RetentionConfig()

    @property
    def principal_bytes(self) -> int | None:
        """The most bytes of one principal; `None`: no limit, as for all together."""
        total = self.retention.max_total_bytes
        return self.max_principal_bytes or (None if total is None else max(1, total * 4 // 5))
