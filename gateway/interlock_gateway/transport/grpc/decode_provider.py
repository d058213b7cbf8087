"""From the protos to our own types: a provider that an operator registers at run time (TOOL-4)."""

from collections.abc import Mapping

from interlock.v1 import registry_pb2

from interlock_gateway.config import ProviderConfig
from interlock_gateway.config_loader.provider_rules import stays_here
from interlock_gateway.config_providers import ProviderCredentialsConfig
from interlock_gateway.errors import RequestError, RequestFault

_CREDENTIALS = "spec.grpc.credentials_name"
_TARGET = "spec.grpc.target"


def provider_config(spec: registry_pb2.ProviderSpec, known: Mapping[str, ProviderCredentialsConfig]) -> ProviderConfig:
    """The provider, with the credentials of `known` that it names.

    Raises `RequestError`: it is not reached over gRPC, its name or address is malformed, there are no such credentials,
    or it is on another host and would be spoken to in plain text.
    """
    if spec.WhichOneof("connection") != "grpc":
        raise RequestError(RequestFault.NOT_ENABLED, "only providers that speak gRPC can be registered", field="spec")
    if spec.prefix:
        raise RequestError(RequestFault.NOT_ENABLED, "prefixes come from the configuration", field="spec.prefix")
    credentials = _credentials(spec.grpc.credentials_name, known)
    address = spec.grpc.target.removeprefix("dns:///")
    try:
        local = stays_here(address)
    except ValueError as error:
        raise RequestError(RequestFault.INVALID_FIELD, f"the target {error}", field=_TARGET) from None
    if not local and credentials.tls is None:
        words = "a provider on another host is reached over TLS: name credentials of provider_credentials that have it"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=_CREDENTIALS)
    return _config(spec, address, credentials)


def _credentials(name: str, known: Mapping[str, ProviderCredentialsConfig]) -> ProviderCredentialsConfig:
    if not name:
        return ProviderCredentialsConfig()
    found = known.get(name)
    if found is None:
        words = f"there is no {name} in provider_credentials of the configuration"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=_CREDENTIALS)
    return found


def _config(spec: registry_pb2.ProviderSpec, address: str, credentials: ProviderCredentialsConfig) -> ProviderConfig:
    if credentials.tls is not None and address.startswith("unix:"):
        words = "these credentials encrypt TCP, and the target is a Unix socket"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=_CREDENTIALS)
    try:
        return ProviderConfig(
            name=spec.name,
            address=address,
            token=credentials.token,
            tls=credentials.tls,
            trust="floor" if spec.trust == registry_pb2.PROVIDER_TRUST_FLOOR else "declared",
            pins="follow" if spec.pins == registry_pb2.PIN_MODE_FOLLOW else "enforce",
        )
    except ValueError:
        raise RequestError(
            RequestFault.INVALID_FIELD,
            "a provider's name is 1 to 64 letters, digits, '.', '_' and '-'",
            field="spec.name",
        ) from None
