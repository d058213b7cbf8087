"""The settings of an OPA server: what its address means, and what is refused (ENG-1, ENG-3)."""

from pathlib import Path

import pytest
from interlock_gateway.cli.config import effective
from interlock_gateway.config_loader import InvalidConfigError, load_config
from interlock_gateway.config_loader.addresses import TcpAddress, UnixAddress
from interlock_gateway.config_loader.opa_rules import opa_address
from interlock_gateway.policy.opa.configured import opa_access


def loaded(tmp_path: Path, opa: str, more: str = "") -> Path:
    file = tmp_path / "c.yaml"
    file.write_text(f"policy:\n  engine: opa\n  opa: {opa}\n{more}")
    return file


def refusal(tmp_path: Path, opa: str, more: str = "") -> str:
    file = loaded(tmp_path, opa, more)
    with pytest.raises(InvalidConfigError) as caught:
        load_config(file, {})
    return str(caught.value).replace(f"{file}:", "")


@pytest.mark.req("ENG-1")
@pytest.mark.parametrize(
    ("url", "address", "encrypted"),
    [
        ("http://127.0.0.1:8181", TcpAddress("127.0.0.1", 8181), False),
        ("http://localhost", TcpAddress("localhost", 80), False),
        ("https://opa.example.com/", TcpAddress("opa.example.com", 443), True),
        ("https://[2001:db8::1]:8443", TcpAddress("2001:db8::1", 8443), True),
        ("unix:/run/opa.sock", UnixAddress("/run/opa.sock"), False),
    ],
)
def test_an_address_is_a_host_and_a_port_or_a_socket(url: str, address: object, *, encrypted: bool) -> None:
    assert opa_address(url) == (address, encrypted)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("opa.example.com:8181", "must be http://HOST:PORT"),
        ("ftp://opa.example.com", "must be http://HOST:PORT"),
        ("https://", "must be http://HOST:PORT"),
        ("https://user:password@opa.example.com", "use policy.opa.token_file"),
        ("https://opa.example.com/v1/data", "where OPA's API begins"),
        ("https://opa.example.com?x=1", "where OPA's API begins"),
        ("https://opa.example.com:99999", "Port out of range"),
        ("unix:opa.sock", "must name an absolute path"),
        ("https://opa example.com", "must be unix:PATH or HOST:PORT"),
    ],
)
def test_what_is_no_address_is_refused(tmp_path: Path, url: str, why: str) -> None:
    said = refusal(tmp_path, f"{{url: '{url}'}}")
    assert said.startswith("3: policy.opa.url ")
    assert why in said
    assert "password@" not in said


@pytest.mark.req("ENG-3")
@pytest.mark.parametrize("url", ["http://opa.example.com:8181", "http://10.0.0.1", "http://[2001:db8::1]:8181"])
def test_asking_another_host_without_encryption_is_refused_unless_it_is_said_outright(tmp_path: Path, url: str) -> None:
    assert refusal(tmp_path, f"{{url: '{url}'}}") == (
        "3: policy.opa.url is not encrypted: use https://, or say policy.opa.plaintext_beyond_loopback: true"
    )
    outright = loaded(tmp_path, f"{{url: '{url}', plaintext_beyond_loopback: true}}")
    assert not opa_access(load_config(outright, {})).tls


@pytest.mark.parametrize(
    ("opa", "why"),
    [
        ("{token: a, token_file: b}", "policy.opa.token and policy.opa.token_file are both given; one is enough"),
        ("{token: 'a b'}", "policy.opa.token holds a character that no bearer token has"),
        ("{ca_file: a.pem}", "policy.opa.ca_file is for https://, which policy.opa.url does not begin with"),
        ("{client_key: a.pem}", "policy.opa.client_key is given without policy.opa.client_cert"),
        ("{breaker: {retry_s: 20}}", "policy.opa.breaker.retry_s is 20, more than policy.opa.breaker.longest_retry_s"),
        ("{timeout_s: 0}", "policy.opa.timeout_s must be more than 0, not 0"),
        ("{policies: pull}", "policy.opa.policies must be 'push' or 'bundle', not pull"),
        ("{accept_unchecked_policies: true}", "accept_unchecked_policies is for an OPA that loads its policies itself"),
        ("{fail_open: true}", "policy.opa.fail_open is not a setting"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(tmp_path: Path, opa: str, why: str) -> None:
    assert why in refusal(tmp_path, opa)


@pytest.mark.req("ENG-1")
def test_overlays_are_refused_where_opa_loads_its_policies_itself(tmp_path: Path) -> None:
    said = refusal(tmp_path, "{policies: bundle}", "  overlays: [own]\n")
    assert "policy.overlays decides nothing where OPA loads its policies itself" in said


def test_a_server_that_does_not_decide_is_not_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text("policy: {opa: {url: nonsense}}\n")
    assert load_config(file, {}).policy.engine == "embedded"


def test_its_files_are_found_from_the_configuration_and_its_token_is_not_shown(tmp_path: Path) -> None:
    file = loaded(tmp_path, "{url: 'https://opa.example.com', ca_file: ca.pem, client_cert: own.pem}")
    config = load_config(file, {"INTERLOCK__POLICY__OPA__TOKEN": "secret-token"})
    access = opa_access(config)
    assert (access.ca_file, access.client_cert) == (tmp_path / "ca.pem", tmp_path / "own.pem")
    assert access.token == "secret-token"
    assert "secret-token" not in str(effective(config))
    socket = opa_access(load_config(loaded(tmp_path, "{url: 'unix:{state}/opa.sock'}"), {}))
    assert socket.socket.endswith("/opa.sock")
