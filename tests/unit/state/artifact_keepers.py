"""An artifact store that is entered in a database, with a clock that tests own."""

from dataclasses import dataclass, field
from pathlib import Path

from interlock_gateway.artifacts.admission import Admission, Limits
from interlock_gateway.artifacts.backend import ObjectBackend, open_backend
from interlock_gateway.artifacts.keeping import StoreKeeper
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.artifacts.sweeping import Retention, Sweeper, Swept
from interlock_gateway.core.content import Artifact
from interlock_gateway.state.store import SqlStateStore
from state_records import a_session

TEXT = "text/plain; charset=utf-8"
DAY = 86_400.0
MEBIBYTE = 1024 * 1024
NOW = 1_750_000_000.0


@dataclass
class OwnClock:
    """Stands still unless a test moves it."""

    time: float = NOW

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


@dataclass
class Keeping:
    """One gateway's artifact store, and what it is swept with."""

    state: SqlStateStore
    root: Path
    session_bytes: int = 100 * MEBIBYTE
    total_bytes: int | None = None
    principal_bytes: int | None = None
    max_age_s: float | None = 7 * DAY
    every_s: float = 300.0
    idle_session_s: float | None = None
    clock: OwnClock = field(default_factory=OwnClock)
    url: str = ""

    def __post_init__(self) -> None:
        self.backend: ObjectBackend = open_backend(self.url or f"file://{self.root}")
        limits = Limits(self.session_bytes, self.total_bytes, self.principal_bytes)
        self.admission = Admission(self.state.artifacts, self.clock, limits)
        self.store = ArtifactStore(self.backend, self.clock, self.admission)
        retention = Retention(self.max_age_s, self.total_bytes, self.every_s, self.idle_session_s, self.principal_bytes)
        self.sweeper = Sweeper(self.state.artifacts, self.backend, self.clock, retention)
        self.keeper = StoreKeeper(self.state.artifacts, self.admission, self.sweeper, self.every_s)

    async def opened(self, *session_ids: str, owner: str = "alice") -> None:
        """Open sessions of `owner`."""
        for session_id in session_ids:
            await self.state.sessions.ensure_session(a_session(session_id, owner=owner))

    async def closed(self, *session_ids: str) -> None:
        """Close sessions."""
        for session_id in session_ids:
            await self.state.sessions.close_session(session_id, self.clock.time)

    async def put(self, session_id: str, text: str | bytes) -> Artifact:
        """Store one artifact."""
        return await self.store.put(session_id, text if isinstance(text, bytes) else text.encode(), TEXT)

    async def swept(self) -> Swept:
        """What a sweep that is due removed."""
        self.clock.time += self.every_s
        swept = await self.keeper.keep()
        assert swept is not None
        return swept

    async def usage(self) -> tuple[int, int]:
        """How many artifacts are entered, and their bytes."""
        usage = await self.state.artifacts.usage()
        return usage.count, usage.size

    def files(self) -> list[str]:
        """What is in the directory, by the ends of names."""
        return sorted(path.name for path in self.root.rglob("*") if path.is_file())
