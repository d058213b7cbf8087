"""What `interlock check` looks at, one function each; none of them changes anything."""

import asyncio
import fcntl
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.artifacts.errors import ArtifactStoreError
from interlock_gateway.audit.errors import AuditDamagedError
from interlock_gateway.audit.keys import load_or_create
from interlock_gateway.cli.last_words import LastWords, last_words
from interlock_gateway.config import Config, ProviderConfig
from interlock_gateway.config_loader.addresses import UnixAddress, parse_address
from interlock_gateway.config_loader.provider_rules import is_local_url, stays_here
from interlock_gateway.errors import ConfigError, ProviderError
from interlock_gateway.extensions.plugins import HOOKS, INTERCEPTORS, load
from interlock_gateway.operate.policy_start import open_policies
from interlock_gateway.pipeline.ports import StateError
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.checks.problems import Problem
from interlock_gateway.policy.embedded.engine import EmbeddedEngine
from interlock_gateway.policy.embedded.pool_settings import PoolSettings
from interlock_gateway.policy.engine import PolicyUnavailableError
from interlock_gateway.policy.inspection import InspectionError
from interlock_gateway.policy.inspection import check as find_problems
from interlock_gateway.policy.loader import read_bundle
from interlock_gateway.policy.settings import PolicySourceError
from interlock_gateway.providers.making import made_provider
from interlock_gateway.providers.mcp.clients import Clients
from interlock_gateway.state.migrate import look_at
from interlock_gateway.transport.grpc.binding import refuse_taken

DESCRIBE_S = 3.0
START_S = 60.0
"""How long an MCP server that is a command may take: `npx` may have to fetch it first."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at, whether it is as it should be, and a few words."""

    what: str
    ok: bool
    detail: str


def check_policies(config: Config) -> Check:
    """Whether the configured policies can be loaded, and are fit to decide."""
    problems: tuple[Problem, ...] = ()
    if config.policy.opa_loads_them:
        # An HTTP client of 25 MB: only who has an OPA server pays for it.
        from interlock_gateway.cli.opa_check import check_what_opa_has  # noqa: PLC0415 -- as said above

        found = check_what_opa_has(config)
        return Check("policies", ok=found.ok, detail=found.detail)
    try:
        if config.policy.bundle is not None:
            bundle = asyncio.run(_fetched(config))
        else:
            bundle = read_bundle(profile=config.policy.profile, overlays=config.policy.overlays)
            problems = find_problems(bundle)
        if problems:
            more = f" (and {len(problems) - 1} more; `interlock policy check`)" if len(problems) > 1 else ""
            return Check("policies", ok=False, detail=f"{problems[0]}{more}")
        asyncio.run(_start(EmbeddedEngine(bundle, PoolSettings(workers=1, most_workers=1))))
    except (PolicySourceError, PolicyUnavailableError, InspectionError) as error:
        first, *others = str(error).splitlines()
        more = f" (and {len(others)} more; `interlock policy check`)" if others else ""
        return Check("policies", ok=False, detail=f"{first}{more}")
    return Check("policies", ok=True, detail=f"revision {bundle.revision}, profile {bundle.profile}")


async def _fetched(config: Config) -> PolicyBundle:
    """The configured bundle as its source has it. Whoever built it has looked for problems; it has no shipped tests."""
    origin = await asyncio.to_thread(open_policies, config.policy, config.policy_dir)
    try:
        return await origin.load()
    finally:
        await origin.close()


async def _start(engine: EmbeddedEngine) -> None:
    try:
        await engine.start()
    finally:
        await engine.close()


def check_state(config: Config) -> Check:
    """Whether the state directory can be written, or made."""
    where = _nearest_directory(config.state_dir)
    if not os.access(where, os.W_OK | os.X_OK):
        return Check("state", ok=False, detail=f"{where} cannot be written")
    if where == config.state_dir and where.stat().st_mode & stat.S_IWOTH:
        return Check("state", ok=False, detail=f"anybody can write to {where}, and so take the gateway's place there")
    running = ", a gateway is running on it" if gateway_is_running(config) else ""
    return Check("state", ok=True, detail=f"{config.state_dir}{running}")


def check_database(config: Config) -> Check:
    """Whether the state database can be reached, and its tables are ones that this version knows."""
    try:
        return Check("database", ok=True, detail=look_at(config.at_state(config.state.database)))
    except (StateError, ValueError) as error:
        return Check("database", ok=False, detail=str(error))


def check_audit_key(config: Config) -> Check:
    """Whether the key that signs receipts can be used, when there is one."""
    path = Path(config.at_state(config.audit.key_file))
    if not path.exists():
        return Check("audit key", ok=True, detail="made at the first start")
    try:
        key = load_or_create(path)
    except (ConfigError, AuditDamagedError) as error:
        return Check("audit key", ok=False, detail=error.message)
    return Check("audit key", ok=True, detail=f"key {key.public.key_id}")


def check_artifacts(config: Config) -> Check:
    """Whether the artifact store's address can be used; a remote one is not asked."""
    url = config.at_state(config.artifacts.url)
    path = url.removeprefix("file://")
    if path != url:
        where = _nearest_directory(Path(path))
        writable = os.access(where, os.W_OK | os.X_OK)
        return Check("artifacts", ok=writable, detail=url if writable else f"{where} cannot be written")
    try:
        open_backend(url)
    except ArtifactStoreError as error:
        return Check("artifacts", ok=False, detail=str(error))
    return Check("artifacts", ok=True, detail=url)


def check_plugins(config: Config) -> Iterator[Check]:
    """Whether each configured plug-in is installed and can be imported; none is made, which might do something."""
    wanted = config.extensions
    for group, plugins in ((INTERCEPTORS, wanted.interceptors), (HOOKS, wanted.hooks)):
        for plugin in plugins:
            what = f"plug-in {plugin.name}"
            try:
                load(group, plugin.name)
            except ConfigError as error:
                yield Check(what, ok=False, detail=error.message)
            else:
                yield Check(what, ok=True, detail=group)


def check_listeners(config: Config) -> Iterator[Check]:
    """Whether the addresses are free. Nothing is said of them while a gateway holds them."""
    if gateway_is_running(config):
        return
    server = config.server
    for text in (
        *(*server.listen, *server.operator_listen, server.health_listen, config.metrics.listen),
        *(*config.mcp.listen, *config.extmcp.listen),
    ):
        if text:
            yield _check_listener(config.at_state(text))


def _check_listener(text: str) -> Check:
    address = parse_address(text)
    if isinstance(address, UnixAddress):
        where = _nearest_directory(Path(address.path).parent)
        if not os.access(where, os.W_OK | os.X_OK):
            return Check(f"listen {text}", ok=False, detail=f"{where} cannot be written")
    try:
        refuse_taken(text)
    except OSError as error:
        return Check(f"listen {text}", ok=False, detail=error.strerror or str(error))
    return Check(f"listen {text}", ok=True, detail="free")


def check_providers(config: Config) -> list[Check]:
    """Whether each provider answers, and what it describes."""
    return asyncio.run(_describe_all(config))


async def _describe_all(config: Config) -> list[Check]:
    with last_words() as words:
        describing = (_describe(config, one, words) for one in config.providers)
        # All come to their end before a failure that nobody foresaw is raised: some have started a program.
        ended = await asyncio.gather(*describing, return_exceptions=True)
    for one in ended:
        if isinstance(one, BaseException):
            raise one
    return [one for one in ended if isinstance(one, Check)]


async def _describe(config: Config, spec: ProviderConfig, words: LastWords) -> Check:
    what = f"provider {spec.name}"
    provider = made_provider(spec, config.at_state, config.limits.max_provider_bytes, Clients())
    address = provider.address
    try:
        described = await provider.describe(DESCRIBE_S if spec.mcp is None or spec.mcp.url else START_S)
    except ProviderError as error:
        said = "".join(f"; it wrote: {line}" for line in words.of(spec.name)[-1:])
        return Check(what, ok=False, detail=f"{address}: {error.message}{said}")
    finally:
        await provider.close()
    version = f", version {described.version}" if described.version else ""
    version += "" if _is_safe(spec, address) else ", not encrypted"
    problems = "".join(f"; {problem}" for problem in described.problems)
    return Check(what, ok=not problems, detail=f"{address}: {len(described.tools)} tools{version}{problems}")


def _is_safe(spec: ProviderConfig, address: str) -> bool:
    """Whether nobody on the way can read what is sent to the provider."""
    if spec.mcp is None:
        return spec.tls is not None or stays_here(address)
    return not spec.mcp.url.startswith("http:") or is_local_url(spec.mcp.url)


def gateway_is_running(config: Config) -> bool:
    """Whether a gateway holds the state directory."""
    try:
        lock = os.open(config.state_dir / "lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _nearest_directory(path: Path) -> Path:
    """`path`, or the nearest directory above it that is there."""
    return next(one for one in (path, *path.parents) if one.is_dir())
