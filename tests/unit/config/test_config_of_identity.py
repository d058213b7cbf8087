"""Settings of identity that are refused: roles that contradict, names that two could have, doors without a lock."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from interlock_gateway.config import Config
from interlock_gateway.config_loader import InvalidConfigError, load_config
from interlock_gateway.config_loader.spiffe import spiffe_pattern, spiffe_problem

SHA = "ab" * 32
TLS = {"cert_file": "tls.crt", "key_file": "tls.key", "client_ca_file": "ca.crt"}
LISTS = {**TLS, "crl_file": "ca.crl"}
AGENT = {"spiffe": "spiffe://example.org/ns/*/sa/agent", "roles": ["agent"]}
ISSUER = {
    "name": "dex",
    "issuer": "https://dex.example.org",
    "audience": ["interlock"],
    "grants": [{"claim": "groups", "value": "agents", "roles": ["agent"]}],
}


def loaded(tmp_path: Path, given: dict[str, Any]) -> Config:
    file = tmp_path / "c.yaml"
    file.write_text(yaml.safe_dump(given))
    return load_config(file, {})


def refusal(tmp_path: Path, given: dict[str, Any]) -> str:
    with pytest.raises(InvalidConfigError) as caught:
        loaded(tmp_path, given)
    return str(caught.value)


def mtls(*principals: dict[str, Any], **tls: str) -> dict[str, Any]:
    return {"server": {"tls": {**TLS, **tls}}, "identity": {"mtls": {"principals": list(principals)}}}


def jwt(**changed: Any) -> dict[str, Any]:
    return {"identity": {"jwt": [{**ISSUER, **changed}]}}


def test_files_of_certificates_start_at_the_files_directory(tmp_path: Path) -> None:
    identity = {**mtls(AGENT)["identity"], **jwt(ca_file="x")["identity"]}
    config = loaded(tmp_path, {"server": {"tls": LISTS}, "identity": identity})
    assert config.server.tls is not None
    assert config.server.tls.cert_file == tmp_path / "tls.crt"
    assert config.server.tls.client_ca_file == tmp_path / "ca.crt"
    assert config.server.tls.crl_file == tmp_path / "ca.crl"
    assert config.identity.jwt[0].ca_file == tmp_path / "x"


@pytest.mark.req("AUTH-1")
def test_with_tls_addresses_may_be_beyond_loopback(tmp_path: Path) -> None:
    given = {"server": {"tls": {"cert_file": "a", "key_file": "b"}, "listen": ["0.0.0.0:7080"]}}
    assert loaded(tmp_path, given).server.listen == ("0.0.0.0:7080",)
    anonymous = {**given, "identity": {"anonymous_agents_on_loopback": True}}
    assert "identity.anonymous_agents_on_loopback lets anyone in" in refusal(tmp_path, anonymous)


@pytest.mark.req("AUTH-1", "AUTH-2", "CHK-6")
@pytest.mark.parametrize("other", ["approver", "operator"])
def test_no_credential_is_an_agents_and_decides_about_calls(tmp_path: Path, other: str) -> None:
    roles = ["auditor", other, "agent"]
    said = f"roles are agent and {other}: an agent never decides about calls"
    token = {"identity": {"tokens": [{"principal": "a", "sha256": SHA, "roles": roles}]}}
    assert f"identity.tokens[0].{said}" in refusal(tmp_path, token)
    assert f"identity.mtls.principals[0].{said}" in refusal(tmp_path, mtls({**AGENT, "roles": roles}))
    grant = {"claim": "groups", "value": "x", "roles": roles}
    assert f"identity.jwt[0].grants[0].{said}" in refusal(tmp_path, jwt(grants=[grant]))


@pytest.mark.req("AUTH-2", "CHK-6")
def test_no_principal_is_an_agent_by_one_credential_and_decides_by_another(tmp_path: Path) -> None:
    tokens = [
        {"principal": "ci", "sha256": SHA, "roles": ["agent"]},
        {"principal": "ci", "sha256": "cd" * 32, "roles": ["approver"]},
    ]
    said = refusal(tmp_path, {"identity": {"tokens": tokens}})
    assert "ci is an agent by identity.tokens[0].principal and decides about calls by identity.tokens[1]" in said
    operator = {"spiffe": "spiffe://example.org/ops", "principal": "local-agent", "roles": ["operator"]}
    assert "local-agent is an agent by identity.unix_agent" in refusal(tmp_path, mtls(operator))


@pytest.mark.req("AUTH-2")
@pytest.mark.parametrize("name", ["dex:alice", "spiffe://example.org/agent", "x509:CN=agent", "anonymous"])
def test_no_configured_name_is_one_that_somebody_else_could_have(tmp_path: Path, name: str) -> None:
    tokens = [{"principal": name, "sha256": SHA}]
    said = refusal(tmp_path, {"identity": {"tokens": tokens, "jwt": [ISSUER]}})
    assert "identity.tokens[0].principal" in said
    assert "identity.unix_agent" in refusal(tmp_path, {"identity": {"unix_agent": name, "jwt": [ISSUER]}})


@pytest.mark.req("CHK-6")
def test_whoever_answers_on_a_webhook_is_nobody_whom_a_certificate_makes_an_agent(tmp_path: Path) -> None:
    approver = {"principal": "spiffe://example.org/ns/prod/sa/agent"}
    hook = {"name": "w", "url": "https://h.example.org", "secret": "s" * 20, "approvers": [approver]}
    assert "is an agent, which never decides" in refusal(tmp_path, {**mtls(AGENT), "approvals": {"webhooks": [hook]}})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (mtls({"roles": ["agent"]}), "needs exactly one of spiffe and subject"),
        (mtls({**AGENT, "subject": "CN=a"}), "needs exactly one of spiffe and subject"),
        (mtls({**AGENT, "spiffe": "spiffe://*/agent"}), "must name a trust domain"),
        ({"identity": mtls(AGENT)["identity"]}, "needs server.tls.client_ca_file"),
        ({"server": {"tls": TLS, "listen": ["unix:/a"]}}, "extmcp.listen hold Unix sockets alone"),
        ({"server": {"tls": {**TLS, "clients": "accept"}, "front": "grpcio"}}, "front: nghttp2 alone"),
        ({"server": {"tls": {"cert_file": "a", "key_file": "b", "clients": "accept"}}}, "says whose certificates"),
        ({"server": {"tls": {**TLS, "crl_file": "c"}, "front": "grpcio"}}, "crl_file works with server.front: nghttp2"),
        (
            {"server": {"tls": {"cert_file": "a", "key_file": "b", "crl_file": "c"}}},
            "crl_file needs server.tls.client_ca",
        ),
        (jwt(issuer="http://dex.example.org"), "identity.jwt[0].issuer must begin with https://"),
        (jwt(issuer="https://u:p@dex.example.org"), "holds a name or a password"),
        (jwt(jwks_url="ftp://dex.example.org"), "identity.jwt[0].jwks_url must begin with https://"),
        (jwt(audience=[]), "identity.jwt[0].audience"),
        (jwt(audience=[""]), "identity.jwt[0].audience holds an empty one"),
        (jwt(algorithms=["HS256"]), "identity.jwt[0].algorithms[0]"),
        (jwt(algorithms=["none"]), "identity.jwt[0].algorithms[0]"),
        (jwt(keys_max_age_s=299), "is 299, less than refresh_s"),
        (jwt(name="spiffe"), "which certificates' principals begin with"),
        (jwt(grants=[{"claim": "a", "value": "b", "groups": ["c"]}]), "gives nobody a role"),
        (jwt(grants=[{"claim": "a", "value": "b*c", "roles": ["agent"]}]), "may have a * at its end"),
        ({"identity": {"jwt": [ISSUER, ISSUER]}}, "identity.jwt[0].name is used twice: dex"),
    ],
)
def test_what_lets_nobody_in_or_too_many_is_refused(tmp_path: Path, given: dict[str, Any], said: str) -> None:
    assert said in refusal(tmp_path, given)


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("spiffe://example.org/agent", ""),
        ("spiffe://example.org/ns/a_b/sa/C.d-1", ""),
        ("SPIFFE://example.org/agent", "must begin with"),
        ("spiffe://Example.org/agent", "trust domain"),
        ("spiffe://example.org:8443/agent", "trust domain"),
        ("spiffe://user@example.org/agent", "trust domain"),
        ("spiffe:///agent", "trust domain"),
        ("spiffe://example.org", "must have a path"),
        ("spiffe://example.org/", "path segment"),
        ("spiffe://example.org/a/", "path segment"),
        ("spiffe://example.org/a//b", "path segment"),
        ("spiffe://example.org/a/../b", "path segment"),
        ("spiffe://example.org/a%2fb", "path segment"),
        ("spiffe://example.org/a?b", "path segment"),
        ("spiffe://example.org/a#b", "path segment"),
        ("spiffe://example.org/*", "path segment"),
        ("spiffe://example.org/" + "a" * 2048, "2048 at most"),
    ],
)
def test_a_spiffe_id_is_read_as_the_specification_says(text: str, problem: str) -> None:
    said = spiffe_problem(text)
    assert (problem in said) if problem else said == ""


def test_a_star_of_a_pattern_stays_within_its_segment() -> None:
    pattern = spiffe_pattern("spiffe://example.org/ns/*/sa/agent-*")
    assert pattern.fullmatch("spiffe://example.org/ns/prod/sa/agent-1")
    for other in (
        "spiffe://example.org/ns/a/b/sa/agent-1",
        "spiffe://exampleXorg/ns/prod/sa/agent-1",
        "spiffe://example.org/ns/prod/sa/agent-1/x",
        "spiffe://example.org.evil.org/ns/prod/sa/agent-1",
        "spiffe://example.org/ns/prod/sa/agent-1\n",
    ):
        assert not pattern.fullmatch(other)
