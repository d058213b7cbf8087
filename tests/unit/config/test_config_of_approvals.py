"""Settings of approvals that are not safe together are refused, without repeating what is secret."""

from pathlib import Path

import pytest
from interlock_gateway.approvals.webhooks.targets import webhook_of
from interlock_gateway.cli.config import effective
from interlock_gateway.config import Config, WebhookConfig
from interlock_gateway.config_loader import InvalidConfigError, load_config
from interlock_gateway.errors import ConfigError

SHA = "ab" * 32
SECRET = "whsec_" + "c2Vj" * 10
HOOK = f"name: t, url: 'https://x.example/SECRET-PATH', secret: '{SECRET}'"
WHO = "approvers: [{principal: alice, groups: [dba]}]"


def written(tmp_path: Path, text: str) -> Config:
    file = tmp_path / "c.yaml"
    file.write_text(text)
    return load_config(file, {})


def with_webhook(hook: str, more: str = "", identity: str = "") -> str:
    return f"approvals: {{{more} webhooks: [{{{hook}}}]}}\n{identity}"


def test_a_whole_webhook_is_taken(tmp_path: Path) -> None:
    config = written(tmp_path, with_webhook(f"{HOOK}, {WHO}"))
    webhook = webhook_of(config.approvals.webhooks[0])
    assert (webhook.name, webhook.key, [one.id for one in webhook.approvers]) == ("t", b"sec" * 10, ["alice"])


@pytest.mark.req("CHK-6", "AUTH-2")
def test_a_token_for_an_agent_and_an_approver_is_refused(tmp_path: Path) -> None:
    text = f"identity: {{tokens: [{{principal: a, sha256: {SHA}, roles: [agent, approver]}}]}}"
    with pytest.raises(InvalidConfigError, match="an agent never decides about calls; give each a cred"):
        written(tmp_path, text)


@pytest.mark.req("CHK-6", "CHK-8")
@pytest.mark.parametrize("agent", ["local-agent", "anonymous", "ci"])
def test_an_agent_never_answers_on_a_webhook(tmp_path: Path, agent: str) -> None:
    identity = f"identity: {{tokens: [{{principal: ci, sha256: {SHA}}}]}}"
    with pytest.raises(InvalidConfigError, match="is an agent, which never decides about calls"):
        written(tmp_path, with_webhook(f"{HOOK}, approvers: [{{principal: {agent}}}]", identity=identity))


@pytest.mark.req("CHK-8")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (with_webhook(f"name: t, secret: {SECRET}, {WHO}"), "needs either url or url_file"),
        (with_webhook(f"name: t, url: 'https://x', {WHO}"), "needs either secret or secret_file"),
        (with_webhook(f"{HOOK}, secret_file: /x, {WHO}"), "needs either secret or secret_file"),
        (
            with_webhook(f"name: t, url: 'http://x.example/SECRET-PATH', secret: {SECRET}, {WHO}"),
            "must begin with https",
        ),
        (with_webhook(f"name: t, url: 'https://[SECRET-PATH', secret: {SECRET}, {WHO}"), "must begin with https"),
        (with_webhook(f"{HOOK}, {WHO}", "public_url: 'http://x.example',"), "public_url must begin with https"),
        (with_webhook(f"{HOOK}, {WHO}", "listen: '0.0.0.0:7081',"), "which other hosts can reach"),
        (with_webhook(f"{HOOK}, {WHO}", "listen: 'unix:/x',"), "must be HOST:PORT"),
        (with_webhook(f"{HOOK}, {WHO}", "listen: 'x',"), "must be unix:PATH or HOST:PORT"),
        (with_webhook(f"{HOOK}, kind: slack, {WHO}"), "slack_user is needed"),
        (with_webhook(f"{HOOK}, approvers: [{{principal: a}}, {{principal: a}}]"), "a is there twice"),
        (with_webhook(f"{HOOK}, approvers: []"), "approvers"),
        (with_webhook(f"{HOOK}, {WHO}}}, {{{HOOK}, {WHO}"), "is used twice"),
    ],
)
def test_what_cannot_work_or_is_not_safe_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidConfigError) as caught:
        written(tmp_path, text)
    assert said in str(caught.value)
    assert "SECRET-PATH" not in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.req("CHK-8", "SEC-4")
@pytest.mark.parametrize("secret", ["whsec_SECRET-PATH!", "whsec_c2hvcnQ="])
def test_a_secret_that_is_none_is_refused_without_being_repeated(secret: str) -> None:
    settings = WebhookConfig(name="t", url="https://x", secret=secret, approvers=({"principal": "a"},))  # type: ignore[arg-type]  # as read
    with pytest.raises(ConfigError) as caught:
        webhook_of(settings)
    assert secret.removeprefix("whsec_") not in str(caught.value)


@pytest.mark.req("CHK-8", "SEC-4")
@pytest.mark.parametrize("kind", ["generic", "slack"])
@pytest.mark.parametrize(
    ("secret", "said"), [("SECRET-PATH", "16 at least"), ("SECRET-PATH and more", "has whitespace in it")]
)
def test_a_secret_that_can_be_guessed_or_is_none_is_refused_wherever_it_stands(
    tmp_path: Path, kind: str, secret: str, said: str
) -> None:
    (tmp_path / "secret").write_text(secret)
    who = "approvers: [{principal: alice, slack_user: U0ALICE}]"
    hook = f"name: t, kind: {kind}, url: 'https://x', {who}"
    with pytest.raises(InvalidConfigError, match=said) as written_out:
        written(tmp_path, with_webhook(f"{hook}, secret: '{secret}'"))
    from_file = written(tmp_path, with_webhook(f"{hook}, secret_file: {tmp_path}/secret"))
    with pytest.raises(ConfigError, match=said) as read:
        webhook_of(from_file.approvals.webhooks[0])
    assert "SECRET-PATH" not in f"{written_out.value} {read.value}"


@pytest.mark.req("CHK-8", "SEC-4")
def test_secrets_come_from_files_and_are_shown_to_nobody(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    (tmp_path / "url").write_text("https://x.example/SECRET-PATH\n")
    files = f"name: t, url_file: {tmp_path}/url, secret_file: {tmp_path}/secret"
    webhook = webhook_of(written(tmp_path, with_webhook(f"{files}, {WHO}")).approvals.webhooks[0])
    assert (webhook.url, webhook.key) == ("https://x.example/SECRET-PATH", b"sec" * 10)
    config = written(tmp_path, with_webhook(f"{HOOK}, {WHO}"))
    for shown in (repr(webhook), repr(config), str(effective(config))):
        assert "SECRET-PATH" not in shown
        assert SECRET not in shown
    with pytest.raises(ConfigError, match="secret_file cannot be read: No such file"):
        webhook_of(
            written(tmp_path, with_webhook(f"name: t, url: 'https://x', secret_file: /none, {WHO}")).approvals.webhooks[
                0
            ]
        )


@pytest.mark.req("CHK-6", "MCP-1")
@pytest.mark.parametrize(
    ("people", "said"),
    [
        ("{agent: ci, approver: ci}", "mcp.people[0].approver: ci is an agent"),
        ("{agent: a, approver: local-agent}", "local-agent is an agent"),
        ("{agent: a, approver: b}, {agent: b, approver: alice}", "b is an agent"),
        ("{agent: a, approver: alice}, {agent: a, approver: bob}", "mcp.people[0].agent: a is there twice"),
        ("{agent: anonymous, approver: alice}", "mcp.people[0].agent: anonymous is whoever has no credentials"),
        ("{agent: a, approver: 'extmcp:proxy:b'}", "extmcp:proxy:b is an agent"),
    ],
)
def test_whoever_sits_at_an_agents_client_is_no_agent_and_one_person(tmp_path: Path, people: str, said: str) -> None:
    text = f"mcp: {{people: [{people}]}}\nidentity: {{tokens: [{{principal: ci, sha256: {SHA}}}]}}"
    with pytest.raises(InvalidConfigError) as caught:
        written(tmp_path, text)
    assert said in str(caught.value)
