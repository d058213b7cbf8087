"""What is not safe together among the settings of approvals: who answers, how they are reached, what signs it."""

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias
from urllib.parse import urlsplit

from interlock_gateway.config import Config, WebhookConfig
from interlock_gateway.config_loader.addresses import TcpAddress, UnixAddress, parse_address
from interlock_gateway.config_loader.identity_rules import ANONYMOUS, is_an_agents
from interlock_gateway.config_loader.problems import SettingPath, dotted
from interlock_gateway.core.session import PROXIED

Found: TypeAlias = Iterator[tuple[SettingPath, str]]
SHORTEST_SECRET = 16


def approval_contradictions(config: Config) -> Found:
    """Every reason why the settings of approvals are refused, each with the setting to change."""
    yield from _listener(config)
    yield from _public_url(config)
    yield from _people(config)
    names = Counter(webhook.name for webhook in config.approvals.webhooks)
    for index, webhook in enumerate(config.approvals.webhooks):
        path: SettingPath = ("approvals", "webhooks", index)
        if names[webhook.name] > 1:
            yield (*path, "name"), f"{dotted((*path, 'name'))} is used twice: {webhook.name}"
        yield from _target(config, webhook, path)
        yield from _approvers(config, webhook, path)


def secret_problem(secret: str) -> str:
    """Why `secret` signs nothing, without repeating any of it; empty when it may."""
    if any(character.isspace() for character in secret):
        return "has whitespace in it, which no secret of a webhook has"
    if len(secret) < SHORTEST_SECRET:
        return f"has {len(secret)} characters; it needs {SHORTEST_SECRET} at least, or it can be guessed"
    return ""


def _listener(config: Config) -> Found:
    if not config.approvals.webhooks:
        return
    path, text = ("approvals", "listen"), config.approvals.listen
    try:
        address = parse_address(text)
    except ValueError as error:
        yield path, f"approvals.listen {error}"
        return
    if isinstance(address, UnixAddress):
        yield path, "approvals.listen must be HOST:PORT, not a Unix socket"
    elif not address.is_loopback and not config.server.plaintext_beyond_loopback:
        yield (
            path,
            (
                f"approvals.listen is {text}, which other hosts can reach, and connections are not encrypted: listen "
                "on loopback behind a proxy that encrypts them, or say server.plaintext_beyond_loopback: true"
            ),
        )


def _people(config: Config) -> Found:
    """Whoever sits at an agent's client is somebody else than any agent, or an agent would decide about calls."""
    agents = Counter(one.agent for one in config.mcp.people)
    for index, one in enumerate(config.mcp.people):
        path: SettingPath = ("mcp", "people", index)
        if one.agent == ANONYMOUS:
            words = f"{ANONYMOUS} is whoever has no credentials: anybody could answer about their own calls"
            yield (*path, "agent"), f"{dotted((*path, 'agent'))}: {words}"
        if one.approver in agents or one.approver.startswith(PROXIED) or is_an_agents(config, one.approver):
            words = f"{one.approver} is an agent, which never decides about calls"
            yield (*path, "approver"), f"{dotted((*path, 'approver'))}: {words}"
        if agents[one.agent] > 1:
            yield (*path, "agent"), f"{dotted((*path, 'agent'))}: {one.agent} is there twice"


def _public_url(config: Config) -> Found:
    url = config.approvals.public_url
    if url and not _is_encrypted(config, url):
        yield (
            ("approvals", "public_url"),
            "approvals.public_url must begin with https://, or with http:// and name this machine",
        )


def _target(config: Config, webhook: WebhookConfig, path: SettingPath) -> Found:
    for key, given, file in (
        ("url", webhook.url, webhook.url_file),
        ("secret", webhook.secret, webhook.secret_file),
    ):
        if bool(given) == (file is not None):
            yield (*path, key), f"{dotted(path)} needs either {key} or {key}_file"
    if webhook.secret and (problem := secret_problem(webhook.secret)):
        yield (*path, "secret"), f"{dotted((*path, 'secret'))} {problem}"
    if webhook.url and not _is_encrypted(config, webhook.url):
        words = "must begin with https://, or with http:// and name this machine"
        yield (*path, "url"), f"{dotted((*path, 'url'))} {words}"


def _approvers(config: Config, webhook: WebhookConfig, path: SettingPath) -> Found:
    principals = Counter(approver.principal for approver in webhook.approvers)
    users = Counter(approver.slack_user for approver in webhook.approvers)
    for index, approver in enumerate(webhook.approvers):
        here = (*path, "approvers", index)
        if is_an_agents(config, approver.principal):
            words = f"{approver.principal} is an agent, which never decides about calls"
            yield (*here, "principal"), f"{dotted((*here, 'principal'))}: {words}"
        if principals[approver.principal] > 1:
            yield (*here, "principal"), f"{dotted((*here, 'principal'))}: {approver.principal} is there twice"
        if webhook.kind == "slack" and not approver.slack_user:
            yield (*here, "slack_user"), f"{dotted((*here, 'slack_user'))} is needed, to know whose answer it is"
        if approver.slack_user and users[approver.slack_user] > 1:
            yield (*here, "slack_user"), f"{dotted((*here, 'slack_user'))}: {approver.slack_user} is there twice"


def _is_encrypted(config: Config, url: str) -> bool:
    """Whether what is sent to `url` cannot be read on its way."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    if parts.scheme == "https":
        return bool(host)
    local = bool(host) and TcpAddress(host, port or 80).is_loopback
    return parts.scheme == "http" and (local or config.server.plaintext_beyond_loopback)
