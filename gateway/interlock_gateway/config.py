"""The configuration: one strict, frozen tree (contract.md, Configuration). Defaults are safe and need no file."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from interlock_gateway.config_artifacts import ArtifactsConfig
from interlock_gateway.config_attached import AttachedConfig
from interlock_gateway.config_bundles import BundleConfig, ShadowConfig
from interlock_gateway.config_extmcp import ExtMcpConfig
from interlock_gateway.config_identity import IdentityConfig, TokenConfig
from interlock_gateway.config_mcp import McpConfig
from interlock_gateway.config_opa import OpaConfig
from interlock_gateway.config_providers import ProviderConfig, ProviderCredentialsConfig
from interlock_gateway.config_section import Bytes, Seconds, Section
from interlock_gateway.config_server import Front, ServerConfig
from interlock_gateway.config_telemetry import LogsConfig, MetricsConfig, TracingConfig
from interlock_gateway.core.session import DEFAULT_DEFERRED_THRESHOLD
from interlock_gateway.core.tool import TruncationStrategy, UndoMethod

# Sections with a file of their own that most people look for here.
__all__ = ["ArtifactsConfig", "Front", "IdentityConfig", "ProviderConfig", "ServerConfig", "TokenConfig"]


class LimitsConfig(Section):
    """Bounds on what one call may bring, take and return."""

    max_input_bytes: Bytes = 4 * 1024 * 1024
    """The largest input of one call."""
    max_depth: Annotated[int, Field(ge=1, le=64)] = 64
    """The deepest nesting of an input."""
    max_result_bytes: Bytes = 16 * 1024
    """The largest text result returned whole; larger ones are shortened and stored as artifacts."""
    max_part_bytes: Bytes = 4 * 1024 * 1024
    """The largest structured result, image or other part returned inline; larger ones become artifacts."""
    max_provider_bytes: Bytes = 64 * 1024 * 1024
    """The largest message accepted from a provider."""
    default_timeout_s: Seconds = 120.0
    """The deadline of a call when neither client, tool nor policy sets one."""
    max_timeout_s: Seconds = 3600.0
    """No call may take longer than this."""
    max_calls_in_flight: Annotated[int, Field(ge=1)] = 1024
    """Calls in the pipeline at once; more are refused with RESOURCE_EXHAUSTED."""
    max_waiting_calls: Annotated[int, Field(ge=1)] = 1000
    """Calls held open at once while people decide, and as many `WaitCall`s besides; more are refused with
    RESOURCE_EXHAUSTED."""
    max_requests: Annotated[int, Field(ge=1)] = 512
    """Requests of agents over gRPC answered at once that are no calls, such as `OpenSession`, `ListTools` and
    `Rollback`; more are refused with RESOURCE_EXHAUSTED. One principal alone gets four fifths of them."""
    max_reading_requests: Annotated[int, Field(ge=1)] = 64
    """The same for `ReadArtifact`, `SearchArtifact` and `ResolveReferences`, each of which takes memory or a thread."""
    max_open_checkpoints: Annotated[int, Field(ge=1)] = 10_000
    """Calls that wait for people, held open or detached, of all sessions of the database; more are refused.
    One principal alone gets four fifths of them."""
    max_open_checkpoints_per_session: Annotated[int, Field(ge=1)] = 200
    """Calls of one session that wait for people, held open or detached; more are refused with RESOURCE_EXHAUSTED."""
    max_batch_parallel: Annotated[int, Field(ge=1, le=100)] = 32
    """Concurrency-safe calls of one batch side by side, whatever its client asks for."""


class PendingMode(StrEnum):
    """What happens to other calls while something is pending (PREV-10)."""

    STEER = "steer"
    ENFORCE = "enforce"


class PendingConfig(Section):
    """Previewed changes."""

    mode: PendingMode = PendingMode.STEER
    """`steer` repeats the reminder in every answer; `enforce` denies calls that are not read-only."""
    expires_s: Annotated[float, Field(gt=0, le=30 * 86_400)] = 1800.0
    """How long a pending action waits for `resolve`."""


class WebhookApproverConfig(Section):
    """One person who answers on a webhook."""

    principal: Annotated[str, Field(min_length=1, max_length=256)]
    """The approver's principal, as it appears in policies and receipts; never one of an agent's."""
    groups: tuple[str, ...] = ()
    """Groups whose checkpoints the approver may answer."""
    slack_user: Annotated[str, Field(pattern=r"^([UW][A-Z0-9]{1,63})?$")] = ""
    """Slack's id of the person, such as `U024BE7LH`; needed with `kind: slack`, whose buttons anyone may press."""


class WebhookConfig(Section):
    """A way to people who do not watch: checkpoints are posted there, signed, and signed answers come back."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    """The webhook's name; a part of the address that answers are sent to."""
    kind: Literal["generic", "slack"] = "generic"
    """`generic` speaks Standard Webhooks, `slack` posts messages with buttons and takes Slack's interactions."""
    url: Annotated[str, Field(repr=False)] = ""
    """Where checkpoints are posted. It may be a secret itself, as Slack's are."""
    url_file: Path | None = None
    """A file that holds the address, in place of `url`."""
    secret: Annotated[str, Field(repr=False)] = ""
    """Signs what is posted, and the answers: `whsec_` and base64 of 24 to 64 bytes, or Slack's signing secret. At
    least 16 characters, and no whitespace."""
    secret_file: Path | None = None
    """A file that holds the secret, in place of `secret`."""
    approvers: Annotated[tuple[WebhookApproverConfig, ...], Field(min_length=1)]
    """Who answers there. Nobody else's answer counts, however well signed."""
    links: bool = False
    """Send links too, each for one answer of one approver and good once. Whoever reads the message can follow them."""
    timeout_s: Annotated[float, Field(gt=0, le=60)] = 10.0
    """How long one attempt to post may take."""


class ApprovalsConfig(Section):
    """Checkpoints: calls that wait for a person."""

    default_expires_s: Annotated[float, Field(gt=0, le=30 * 86_400)] = 3600.0
    """How long a checkpoint waits for its answers when policy does not say; then it is a denial."""
    default_quorum: Annotated[int, Field(ge=1, le=16)] = 1
    """How many different people have to approve when policy does not say."""
    max_watches: Annotated[int, Field(ge=1, le=10_000)] = 100
    """Approvers who may watch at once; more are refused with RESOURCE_EXHAUSTED."""
    listen: str = "127.0.0.1:7081"
    """`HOST:PORT` where answers to webhooks come in over HTTP; port 0 picks a free one. Served only with webhooks."""
    public_url: str = ""
    """How people and Slack reach that address, such as `https://approvals.example.com`; without it, as it listens."""
    webhooks: tuple[WebhookConfig, ...] = ()
    """Ways to people who do not watch."""


class PolicyConfig(Section):
    """Which policies decide."""

    engine: Literal["embedded", "opa"] = "embedded"
    """`embedded`: Rego in worker processes of the gateway; `opa`: an OPA server."""
    profile: Literal["observe", "standard", "strict"] = "standard"
    """The profile of the shipped policies."""
    overlays: tuple[Path, ...] = ()
    """Directories with the operator's own rules (`custom/`) and settings (`data.yaml`)."""
    timeout_s: Annotated[float, Field(gt=0, le=10)] = 0.25
    """`embedded`: the longest one decision may take; past it the call is denied and the worker replaced."""
    workers: Annotated[int, Field(ge=1, le=64)] = 2
    """Worker processes that evaluate policies."""
    max_worker_bytes: Bytes = 512 * 1024 * 1024
    """Address space of one worker process."""
    bundle: BundleConfig | None = None
    """A bundle, the whole policy or an overlay, instead of or beside directories."""
    watch: bool = True
    """Load changed overlays and newer bundles by themselves; off: with `interlock policy reload` only."""
    watch_s: Annotated[float, Field(ge=0.05, le=3600)] = 2.0
    """How often directories and files are looked at. A change is loaded when two looks see the same."""
    shadow: ShadowConfig = ShadowConfig()
    opa: OpaConfig = OpaConfig()

    @property
    def opa_loads_them(self) -> bool:
        """Whether an OPA server decides by policies that it loads itself."""
        return self.engine == "opa" and self.opa.policies == "bundle"

    @property
    def is_watched(self) -> bool:
        """Whether what changes is loaded by itself. What an OPA server loads changes whether or not anybody wants."""
        return self.watch or self.opa_loads_them


class StateConfig(Section):
    """Where durable state lives."""

    dir: Path = Path("~/.local/state/interlock")
    """The state directory: sockets, database, receipts, artifacts, keys."""
    database: str = "sqlite:///{state}/state.db"
    """The database's URL; `{state}` is the state directory. A PostgreSQL server, which several gateways may share, is
    `postgresql://USER@HOST/NAME?sslmode=verify-full`; its password is best given as `PGPASSWORD`, or in a file."""
    lease_s: Annotated[float, Field(ge=1, le=300)] = 5.0
    """On PostgreSQL: after how many seconds of silence other gateways take this one for dead, and what it was running
    for unknown."""


class AuditConfig(Section):
    """Where receipts go."""

    dir: str = "{state}/audit"
    """Directory of the receipt segments."""
    key_file: str = "{state}/audit-key.pem"
    """The Ed25519 private key that signs receipts; made at first start when missing."""
    segment_bytes: Bytes = 64 * 1024 * 1024
    """A segment that has grown past this is closed and a new one begun."""


class ToolOverride(Section):
    """What the operator says about the tools whose names match a pattern; every field given wins (TOOL-3)."""

    concurrency_safe: bool | None = None
    """Calls may run side by side with each other in one session."""
    read_only: bool | None = None
    """It changes nothing."""
    destructive: bool | None = None
    """It may destroy or overwrite; beats `read_only`."""
    open_world: bool | None = None
    """It reaches people or systems outside."""
    permission_class: str | None = None
    """The family of rules and facts: `bash`, `file`, `webfetch`, `sql`, `readonly`, `generic` or your own."""
    audit_operation: str | None = None
    """`write`, `edit`, `read`, `execute`, `delete`, `invoke` or any other word, for receipts."""
    requires_checkpoint: bool | None = None
    """A person approves every call."""
    requires_reverse_thinking: bool | None = None
    """Every call needs a deliverable in which the agent challenges it."""
    dry_run: bool | None = None
    """The provider can show what a call would do without doing it."""
    reversible: bool | None = None
    """The effect can be taken back."""
    undo_method: UndoMethod | None = None
    """How it would be undone: by a `tool`, or `manual`, by a person."""
    undo_tool: str | None = None
    """The tool that undoes it, when `undo_method` is `tool`."""
    min_confidence: Annotated[int, Field(ge=0, le=100)] | None = None
    """The least confidence an agent must state; 0 switches the gate off."""
    max_result_bytes: Annotated[int, Field(ge=1)] | None = None
    """The most bytes of text returned; the whole is kept as an artifact."""
    max_result_lines: Annotated[int, Field(ge=1)] | None = None
    """The most lines returned."""
    truncation: TruncationStrategy | None = None
    """Which part of a large result is returned."""
    timeout_s: Seconds | None = None
    """The longest a call may run."""
    facts: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Which arguments hold a `path`, `command`, `url` or `sql`."""
    sql_dialect: Literal["postgres", "mysql", "sqlite", "tsql"] | None = None
    """Which database runs its SQL. When it is not known, SQL is read as each of them would, and the worst counts."""


class DeferredConfig(Section):
    """Tools that are found by a search, because there are too many to list (DEFER-1)."""

    threshold: int = DEFAULT_DEFERRED_THRESHOLD
    """With more tools than this, a session is listed those always loaded and those it activated; 0 or less means 15."""
    always_loaded: tuple[str, ...] = ()
    """Tools, by name or alias, that are listed however many there are."""


class PluginConfig(Section):
    """A plug-in that is installed beside the gateway."""

    name: Annotated[str, Field(min_length=1, max_length=128)]
    """Its name, as its entry point has it."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """What it is made with, as it documents. Secrets do not belong here: they are shown with the configuration."""


class HookConfig(PluginConfig):
    """A plug-in that is told what happens, and changes nothing."""

    timeout_s: Annotated[float, Field(gt=0, le=300)] = 5.0
    """How long it may take for one event; then the next one comes."""
    queue: Annotated[int, Field(ge=1, le=100_000)] = 1000
    """Events that wait for it; more are dropped and counted."""


class InterceptorConfig(PluginConfig):
    """A plug-in that looks at calls that policy allowed, before they are sent, and may stop them."""

    timeout_s: Annotated[float, Field(gt=0, le=30)] = 1.0
    """How long it may take for one call; then the call is denied."""


class ExtensionsConfig(Section):
    """Plug-ins, in the order in which they are asked; what is not named is not loaded."""

    hooks: tuple[HookConfig, ...] = ()
    """Plug-ins that are told what happens (entry points `interlock.hooks`)."""
    interceptors: tuple[InterceptorConfig, ...] = ()
    """Plug-ins that may stop a call (entry points `interlock.interceptors`)."""

    @model_validator(mode="after")
    def _each_is_named_once(self) -> "ExtensionsConfig":
        for plugins in (self.hooks, self.interceptors):
            names = [plugin.name for plugin in plugins]
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"a plug-in is named once: {', '.join(twice)} is named more than once")
        return self


class Config(Section):
    """Everything there is to configure."""

    server: ServerConfig = ServerConfig()
    mcp: McpConfig = McpConfig()
    identity: IdentityConfig = IdentityConfig()
    limits: LimitsConfig = LimitsConfig()
    pending: PendingConfig = PendingConfig()
    approvals: ApprovalsConfig = ApprovalsConfig()
    policy: PolicyConfig = PolicyConfig()
    state: StateConfig = StateConfig()
    audit: AuditConfig = AuditConfig()
    artifacts: ArtifactsConfig = ArtifactsConfig()
    metrics: MetricsConfig = MetricsConfig()
    tracing: TracingConfig = TracingConfig()
    logs: LogsConfig = LogsConfig()
    providers: tuple[ProviderConfig, ...] = ()
    """The processes that host tools."""
    attached: AttachedConfig = AttachedConfig()
    extmcp: ExtMcpConfig = ExtMcpConfig()
    provider_credentials: dict[str, ProviderCredentialsConfig] = Field(default_factory=dict)
    """Credentials for providers that are registered at run time, by the name that the registration gives."""
    tools: dict[str, ToolOverride] = Field(default_factory=dict)
    """Overrides by tool name or pattern (`*` and `?`), applied in the order written."""
    deferred: DeferredConfig = DeferredConfig()
    extensions: ExtensionsConfig = ExtensionsConfig()
    workspace_roots: tuple[str, ...] = ()
    """Directories that `file` and `bash` calls may work in, and that sessions may narrow."""
    confidence_field: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,63}$")] = "_flyto_confidence"
    """The reserved field of the confidence gate (CONF-1)."""

    @model_validator(mode="after")
    def _providers_have_one_name_each(self) -> "Config":
        names = [provider.name for provider in self.providers]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"provider names must be unique: {', '.join(twice)} is used more than once")
        return self

    def at_state(self, template: str) -> str:
        """`template` with `{state}` replaced by the absolute state directory."""
        return template.replace("{state}", str(self.state_dir))

    @property
    def state_dir(self) -> Path:
        """The absolute state directory."""
        return self.state.dir.expanduser().absolute()

    @property
    def policy_dir(self) -> Path:
        """Where the last good bundle of policies is kept, and what a candidate would have decided otherwise."""
        return self.state_dir / "policy"
