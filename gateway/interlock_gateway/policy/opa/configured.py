"""The engine `opa` as the configuration has it."""

from collections.abc import Callable

from interlock_gateway.config import Config
from interlock_gateway.config_loader.addresses import UnixAddress
from interlock_gateway.config_loader.opa_rules import opa_address
from interlock_gateway.core.answer import ActivePolicy
from interlock_gateway.core.clock import Clock
from interlock_gateway.policy.bundle import PolicyBundle
from interlock_gateway.policy.opa.engine import OpaEngine
from interlock_gateway.policy.opa.settings import OpaAccess, OpaBounds


def opa_engine(
    config: Config,
    clock: Clock,
    *,
    bundle: PolicyBundle | None,
    max_input_bytes: int,
    on_adopted: Callable[[ActivePolicy], None] = lambda _policy: None,
) -> OpaEngine:
    """An engine that asks the configured server, with `bundle` brought there, or none when it loads its own."""
    opa = config.policy.opa
    bounds = OpaBounds(
        timeout_s=opa.timeout_s,
        connections=opa.max_connections,
        queued=opa.max_waiting,
        answer_bytes=opa.max_answer_bytes,
        failures=opa.breaker.failures,
        retry_s=opa.breaker.retry_s,
        longest_retry_s=opa.breaker.longest_retry_s,
    )
    return OpaEngine(
        opa_access(config),
        bounds,
        clock,
        bundle=bundle,
        pushes=opa.policies == "push",
        unchecked=opa.accept_unchecked_policies,
        max_input_bytes=max_input_bytes,
        on_adopted=on_adopted,
    )


def opa_access(config: Config) -> OpaAccess:
    """Where the configured server is, and what proves who asks."""
    opa = config.policy.opa
    address, encrypted = opa_address(config.at_state(opa.url))
    return OpaAccess(
        host="localhost" if isinstance(address, UnixAddress) else address.host,
        port=80 if isinstance(address, UnixAddress) else address.port,
        socket=address.path if isinstance(address, UnixAddress) else "",
        tls=encrypted,
        token=opa.token,
        token_file=opa.token_file,
        ca_file=opa.ca_file,
        client_cert=opa.client_cert,
        client_key=opa.client_key,
    )
