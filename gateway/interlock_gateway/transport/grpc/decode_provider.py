"""From the protos to our own types: a provider that an operator registers at run time (TOOL-4)."""

import re
from collections.abc import Mapping
from typing import Any, Literal

from interlock.v1 import registry_pb2

from interlock_gateway.config import ProviderConfig
from interlock_gateway.config_loader.provider_rules import is_local_url, mcp_url_problem, stays_here
from interlock_gateway.config_providers import McpUpstreamConfig, ProviderCredentialsConfig
from interlock_gateway.errors import RequestError, RequestFault

_PREFIX = re.compile(r"[A-Za-z0-9_./-]{0,64}")
_TRUST: dict[int, Literal["floor", "declared"]] = {
    registry_pb2.PROVIDER_TRUST_FLOOR: "floor",
    registry_pb2.PROVIDER_TRUST_DECLARED: "declared",
}
_TARGET = "spec.grpc.target"
_URL = "spec.mcp_http.url"


def provider_config(spec: registry_pb2.ProviderSpec, known: Mapping[str, ProviderCredentialsConfig]) -> ProviderConfig:
    """The provider, with the credentials of `known` that it names.

    Raises `RequestError`: it is a command, which only the configuration may run; its name, prefix or address is
    malformed; there are no such credentials; or it is on another host and would be spoken to in plain text.
    """
    match spec.WhichOneof("connection"):
        case "grpc":
            return _grpc(spec, known)
        case "mcp_http":
            return _mcp_http(spec, known)
        case "mcp_stdio":
            words = "commands are run from the configuration alone: put this MCP server into `providers`"
            raise RequestError(RequestFault.NOT_ENABLED, words, field="spec.mcp_stdio")
        case _:
            words = "say how the provider is reached: grpc or mcp_http"
            raise RequestError(RequestFault.INVALID_FIELD, words, field="spec.connection")


def _grpc(spec: registry_pb2.ProviderSpec, known: Mapping[str, ProviderCredentialsConfig]) -> ProviderConfig:
    named = "spec.grpc.credentials_name"
    if spec.prefix:
        words = "prefixes are for MCP servers: a gRPC provider names its tools itself"
        raise RequestError(RequestFault.NOT_ENABLED, words, field="spec.prefix")
    credentials = _credentials(spec.grpc.credentials_name, known, named)
    address = spec.grpc.target.removeprefix("dns:///")
    try:
        local = stays_here(address)
    except ValueError as error:
        raise RequestError(RequestFault.INVALID_FIELD, f"the target {error}", field=_TARGET) from None
    if not local and credentials.tls is None:
        words = "a provider on another host is reached over TLS: name credentials of provider_credentials that have it"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=named)
    if credentials.tls is not None and address.startswith("unix:"):
        words = "these credentials encrypt TCP, and the target is a Unix socket"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=named)
    return _config(spec, address=address, token=credentials.token, tls=credentials.tls)


def _mcp_http(spec: registry_pb2.ProviderSpec, known: Mapping[str, ProviderCredentialsConfig]) -> ProviderConfig:
    named = "spec.mcp_http.credentials_name"
    credentials = _credentials(spec.mcp_http.credentials_name, known, named)
    url = spec.mcp_http.url
    if problem := mcp_url_problem(url):
        raise RequestError(RequestFault.INVALID_FIELD, f"the url {problem}", field=_URL)
    is_plain = url.startswith("http:")
    if is_plain and not is_local_url(url):
        words = "an MCP server on another host is reached over https://"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=_URL)
    if is_plain and credentials.tls is not None:
        words = "these credentials encrypt https://, and the url is http://"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=named)
    headers = dict(credentials.headers)
    if credentials.token and not any(name.lower() == "authorization" for name in headers):
        headers["Authorization"] = f"Bearer {credentials.token}"
    mcp = McpUpstreamConfig(url=url, headers=headers)
    return _config(spec, mcp=mcp, prefix=spec.prefix, tls=credentials.tls)


def _credentials(name: str, known: Mapping[str, ProviderCredentialsConfig], field: str) -> ProviderCredentialsConfig:
    if not name:
        return ProviderCredentialsConfig()
    found = known.get(name)
    if found is None:
        words = f"there is no {name} in provider_credentials of the configuration"
        raise RequestError(RequestFault.INVALID_FIELD, words, field=field)
    return found


def _config(spec: registry_pb2.ProviderSpec, **reached: Any) -> ProviderConfig:
    try:
        return ProviderConfig(
            name=spec.name,
            trust=_TRUST.get(spec.trust),
            pins="follow" if spec.pins == registry_pb2.PIN_MODE_FOLLOW else "enforce",
            **reached,
        )
    except ValueError as error:
        if "prefix" in reached and not _PREFIX.fullmatch(reached["prefix"]):
            words = "a prefix is at most 64 letters, digits, '_', '.', '/' and '-'"
            raise RequestError(RequestFault.INVALID_FIELD, words, field="spec.prefix") from error
        raise RequestError(
            RequestFault.INVALID_FIELD,
            "a provider's name is 1 to 64 letters, digits, '.', '_' and '-'",
            field="spec.name",
        ) from None
