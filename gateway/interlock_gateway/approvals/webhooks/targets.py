"""The configured webhooks, with their secrets read: where checkpoints are posted, and who answers there."""

from dataclasses import dataclass, field

from interlock_gateway.approvals.handlers import Channel
from interlock_gateway.approvals.webhooks.signing import read_secret
from interlock_gateway.config import WebhookApproverConfig, WebhookConfig
from interlock_gateway.config_loader.approval_rules import secret_problem
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import ConfigError

KIND = "webhook"


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook. `key` signs what goes to a generic one and its answers, `secret` is Slack's signing secret."""

    name: str
    is_slack: bool
    url: str = field(repr=False)
    approvers: tuple[Principal, ...]
    slack_users: dict[str, str]
    links: bool
    timeout_s: float
    key: bytes = field(repr=False, default=b"")
    secret: str = field(repr=False, default="")

    @property
    def channel(self) -> Channel:
        """The webhook as a way to people."""
        return Channel(self.name, self.approvers)

    def approver(self, principal_id: str) -> Principal | None:
        """The approver of that id, when they answer here."""
        return next((one for one in self.approvers if one.id == principal_id), None)

    def slack_approver(self, user: str) -> Principal | None:
        """The approver behind a user of Slack, when they answer here."""
        return self.approver(self.slack_users.get(user, ""))


def webhook_of(settings: WebhookConfig) -> Webhook:
    """A configured webhook. Raises `ConfigError`, which names the setting and never what is secret."""
    name, is_slack = f"approvals.webhooks ({settings.name})", settings.kind == "slack"
    secret = settings.secret or _file(settings, "secret_file")
    if problem := secret_problem(secret):
        raise ConfigError(f"{name}: the secret {problem}")
    try:
        key = b"" if is_slack else read_secret(secret)
    except ValueError as error:
        raise ConfigError(f"{name}: the secret {error}") from None
    return Webhook(
        name=settings.name,
        is_slack=is_slack,
        url=settings.url or _file(settings, "url_file"),
        approvers=tuple(map(_principal, settings.approvers)),
        slack_users={one.slack_user: one.principal for one in settings.approvers if one.slack_user},
        links=settings.links,
        timeout_s=settings.timeout_s,
        key=key,
        secret=secret if is_slack else "",
    )


def _principal(settings: WebhookApproverConfig) -> Principal:
    return Principal(settings.principal, KIND, frozenset({Role.APPROVER}), settings.groups)


def _file(settings: WebhookConfig, key: str) -> str:
    path = getattr(settings, key)
    try:
        text = str(path.expanduser().read_text(encoding="utf-8")).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise ConfigError(f"approvals.webhooks ({settings.name}): {key} cannot be read: {reason}") from None
    if not text:
        raise ConfigError(f"approvals.webhooks ({settings.name}): {key} is empty")
    return text
