"""The artifact store as the configuration wants it, and what keeps it within its limits."""

from dataclasses import dataclass

from interlock_gateway.artifacts.admission import Admission, Limits
from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.artifacts.index import ArtifactIndex
from interlock_gateway.artifacts.keeping import StoreKeeper
from interlock_gateway.artifacts.store import ArtifactStore
from interlock_gateway.artifacts.sweeping import Retention, Sweeper
from interlock_gateway.config_artifacts import ArtifactsConfig
from interlock_gateway.core.clock import Clock


@dataclass(frozen=True, slots=True)
class ArtifactRoom:
    """The store, and its keeper."""

    store: ArtifactStore
    keeper: StoreKeeper


def open_artifacts(config: ArtifactsConfig, url: str, index: ArtifactIndex, clock: Clock) -> ArtifactRoom:
    """The store at `url`, entered in `index`; its keeper does not run yet. Raises `ArtifactStoreError`."""
    backend = open_backend(url, config.timeout_s)
    retention = config.retention
    of_one = config.principal_bytes
    admission = Admission(index, clock, Limits(config.max_session_bytes, retention.max_total_bytes, of_one))
    age_s, idle_s = retention.max_age_s, retention.idle_session_s
    kept = Retention(age_s, retention.max_total_bytes, retention.every_s, idle_s, of_one)
    keeper = StoreKeeper(index, admission, Sweeper(index, backend, clock, kept), retention.every_s)
    return ArtifactRoom(ArtifactStore(backend, clock, admission, config.timeout_s), keeper)
