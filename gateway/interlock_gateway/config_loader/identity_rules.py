"""What is not safe together among the settings of identity: roles that contradict, names that two could have."""

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import urlsplit

from interlock_gateway.config import Config
from interlock_gateway.config_identity import JwtConfig
from interlock_gateway.config_loader.addresses import TcpAddress
from interlock_gateway.config_loader.problems import SettingPath, dotted
from interlock_gateway.config_loader.spiffe import spiffe_pattern
from interlock_gateway.core.session import PROXIED, Role, contradict

Found: TypeAlias = Iterator[tuple[SettingPath, str]]
ANONYMOUS = "anonymous"
SUBJECT_PREFIX = "x509:"
_SPIFFE = "spiffe:"
_HERE: SettingPath = ("identity",)


def identity_contradictions(config: Config) -> Found:
    """Every reason why the settings of identity are refused, each with the setting to change."""
    yield from _tokens(config)
    yield from _roles(config)
    yield from _names(config)
    yield from _one_side_each(config)
    for index, issuer in enumerate(config.identity.jwt):
        yield from _issuer(config, issuer, (*_HERE, "jwt", index))


def is_an_agents(config: Config, principal: str) -> bool:
    """Whether a socket, a token or a certificate of the configuration makes `principal` an agent."""
    identity = config.identity
    if principal in {identity.unix_agent, ANONYMOUS}:
        return True
    if any(principal == name and Role.AGENT in roles for _, name, roles in _named(config)):
        return True
    patterns = (one.spiffe for one in identity.mtls.principals if Role.AGENT in one.roles and not one.principal)
    return any(spiffe_pattern(pattern).fullmatch(principal) for pattern in patterns if pattern)


def _named(config: Config) -> Iterator[tuple[SettingPath, str, frozenset[Role]]]:
    """The principals that the configuration names outright: where, which, and with which roles."""
    identity = config.identity
    yield (*_HERE, "unix_agent"), identity.unix_agent, frozenset({Role.AGENT})
    yield (*_HERE, "unix_operator"), identity.unix_operator, frozenset({Role.OPERATOR, Role.APPROVER, Role.AUDITOR})
    for index, token in enumerate(identity.tokens):
        yield (*_HERE, "tokens", index, "principal"), token.principal, frozenset(token.roles)
    for index, one in enumerate(identity.mtls.principals):
        if one.principal:
            yield (*_HERE, "mtls", "principals", index, "principal"), one.principal, frozenset(one.roles)


def _tokens(config: Config) -> Found:
    seen: dict[str, str] = {}
    for index, token in enumerate(config.identity.tokens):
        if token.sha256 in seen:
            other = seen[token.sha256]
            yield (
                ("identity", "tokens", index, "sha256"),
                f"identity.tokens[{index}].sha256 is the token of {other} too; make {token.principal} its own",
            )
        seen.setdefault(token.sha256, token.principal)
    if config.identity.unix_agent == config.identity.unix_operator:
        both = f"identity.unix_agent and identity.unix_operator are both {config.identity.unix_agent}"
        yield ("identity", "unix_operator"), f"{both}: an agent must not be its own operator"


def _roles(config: Config) -> Found:
    identity = config.identity
    places: list[tuple[SettingPath, tuple[Role, ...]]] = []
    places += [((*_HERE, "tokens", i), one.roles) for i, one in enumerate(identity.tokens)]
    places += [((*_HERE, "mtls", "principals", i), one.roles) for i, one in enumerate(identity.mtls.principals)]
    for i, issuer in enumerate(identity.jwt):
        places += [((*_HERE, "jwt", i, "grants", j), one.roles) for j, one in enumerate(issuer.grants)]
    for place, roles in places:
        if contradict(roles):
            both = "agent and approver" if Role.APPROVER in roles else "agent and operator"
            path = (*place, "roles")
            yield path, f"{dotted(path)} are {both}: an agent never decides about calls; give each a credential"


def _names(config: Config) -> Found:
    """Names that a token's subject or a certificate could have too, without being the same caller."""
    own = {f"{issuer.name}:": f"the issuer {issuer.name}" for issuer in config.identity.jwt}
    own |= {_SPIFFE: "SPIFFE IDs", SUBJECT_PREFIX: "subjects of certificates", PROXIED: "agents behind MCP gateways"}
    for path, name, _ in _named(config):
        if name == ANONYMOUS:
            yield path, f"{dotted(path)} is {ANONYMOUS}, which is whoever has no credentials"
        for prefix, whose in own.items():
            if name.startswith(prefix):
                yield path, f"{dotted(path)} begins with {prefix}, as the principals of {whose} do; choose another"


def _one_side_each(config: Config) -> Found:
    agents: dict[str, SettingPath] = {}
    deciders: dict[str, SettingPath] = {}
    for path, name, roles in _named(config):
        if Role.AGENT in roles:
            agents.setdefault(name, path)
        if roles & {Role.APPROVER, Role.OPERATOR}:
            deciders.setdefault(name, path)
    for name in agents.keys() & deciders.keys():
        sockets = (agents[name][-1], deciders[name][-1]) == ("unix_agent", "unix_operator")
        if sockets or agents[name] == deciders[name]:
            continue  # said already
        words = f"{name} is an agent by {dotted(agents[name])} and decides about calls by {dotted(deciders[name])}"
        yield deciders[name], f"{words}: name them differently"


def _issuer(config: Config, issuer: JwtConfig, path: SettingPath) -> Found:
    names = Counter(one.name for one in config.identity.jwt)
    issuers = Counter(one.issuer for one in config.identity.jwt)
    if names[issuer.name] > 1:
        yield (*path, "name"), f"{dotted((*path, 'name'))} is used twice: {issuer.name}"
    if issuer.name in {_SPIFFE.rstrip(":"), SUBJECT_PREFIX.rstrip(":")}:
        yield (*path, "name"), f"{dotted((*path, 'name'))} is {issuer.name}, which certificates' principals begin with"
    if issuer.name == PROXIED.rstrip(":"):
        words = "as the principals of agents behind MCP gateways begin"
        yield (*path, "name"), f"{dotted((*path, 'name'))} is {issuer.name}, {words}"
    if issuers[issuer.issuer] > 1:
        words = "is there twice; give one entry both audiences"
        yield (*path, "issuer"), f"{dotted((*path, 'issuer'))} {words}"
    for key, url in (("issuer", issuer.issuer), ("jwks_url", issuer.jwks_url)):
        if (url or key == "issuer") and (problem := url_problem(url)):
            yield (*path, key), f"{dotted((*path, key))} {problem}"
    if issuer.keys_max_age_s < issuer.refresh_s:
        words = f"{issuer.keys_max_age_s:g}, less than refresh_s: between two fetches nobody could be known"
        yield (*path, "keys_max_age_s"), f"{dotted((*path, 'keys_max_age_s'))} is {words}"
    if "" in issuer.audience:
        yield (*path, "audience"), f"{dotted((*path, 'audience'))} holds an empty one"
    yield from _grants(issuer, (*path, "grants"))


def _grants(issuer: JwtConfig, path: SettingPath) -> Found:
    for index, grant in enumerate(issuer.grants):
        here = (*path, index)
        if not grant.roles and not grant.groups:
            yield here, f"{dotted(here)} gives neither roles nor groups"
        if "*" in grant.value[:-1]:
            yield (*here, "value"), f"{dotted((*here, 'value'))} may have a * at its end, and nowhere else"
    if not any(grant.roles for grant in issuer.grants):
        yield path, f"{dotted(path)} gives nobody a role, so that nobody could call anything"


def url_problem(url: str) -> str:
    """Why keys cannot be fetched from `url`, or from what is below it; empty when they can.

    >>> url_problem("http://issuer.example.com")
    'must begin with https://, or with http:// and name this machine'
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError as error:
        return f"is no address: {error}"
    if parts.username is not None or parts.password is not None:
        return "holds a name or a password, which would be in its tokens too"
    if parts.fragment:
        return "holds a #, which no server would see"
    if parts.scheme == "https" and host:
        return ""
    if parts.scheme == "http" and host and TcpAddress(host, 0).is_loopback:
        return ""
    return "must begin with https://, or with http:// and name this machine"
