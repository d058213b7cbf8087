"""Each way in which a configuration can be wrong has its own plain sentence, at its own place."""

from pathlib import Path

import pytest
from interlock_gateway.config_loader import InvalidConfigError, load_config

TOKEN = f"identity: {{tokens: [{{principal: PRINCIPAL, sha256: {'ab' * 32}, roles: [ROLE]}}]}}"
ROLES = "'agent', 'provider', 'approver', 'operator' or 'auditor'"
PROFILES = "'observe', 'standard' or 'strict'"


def complaints(tmp_path: Path, text: str | bytes, environment: dict[str, str] | None = None) -> list[str]:
    file = tmp_path / "c.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidConfigError) as caught:
        load_config(file, environment or {})
    return [f"{problem.place.removeprefix(str(file))} {problem.message}" for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("server: {listne: [a]}", ":1 server.listne is not a setting; did you mean server.listen?"),
        ("listen: [a]", ":1 listen is not a setting; did you mean server.listen?"),
        ("qwxyz: 1", ":1 qwxyz is not a setting"),
        ("qwxyz:", ":1 qwxyz is not a setting"),
        ("tools:\n  bash: {redonly: true}", ":2 tools.bash.redonly is not a setting; did you mean tools.bash.read"),
        ("providers:\n  - name: a", ":2 providers[0].address is required"),
        ("server: {socket_mode: 0600}", ':1 server.socket_mode must be a string, not 0600; put it in quotes: "0600"'),
        ("server: {socket_mode: '600'}", ":1 server.socket_mode must match ^0[0-7]{3}$, not 600"),
        ("server: {listen: 'unix:/a'}", ":1 server.listen must be a list, not unix:/a"),
        ("server: 5", ":1 server must be a section with keys of its own, not 5"),
        ("tools: []", ":1 tools must be a mapping, not a list"),
        ("server: {drain_s: []}", ":1 server.drain_s must be a number, not a list"),
        ("server: {drain_s: {}}", ":1 server.drain_s must be a number, not a mapping"),
        ("server: {drain_s: 0}", ":1 server.drain_s must be more than 0, not 0"),
        ("server: {drain_s: .nan}", ":1 server.drain_s must be at most 86400, not .nan"),
        ("server: {drain_s: .inf}", ":1 server.drain_s must be at most 86400, not .inf"),
        ("server: {plaintext_beyond_loopback: 7}", ":1 server.plaintext_beyond_loopback must be true or false, not 7"),
        ("policy: {workers: 65}", ":1 policy.workers must be at most 64, not 65"),
        ("policy: {workers: 0}", ":1 policy.workers must be at least 1, not 0"),
        ("policy: {workers: 1.5}", ":1 policy.workers must be a whole number, not 1.5"),
        ("policy: {overlays: [5]}", ":1 policy.overlays[0] must be a path, not 5"),
        ("policy: {profile: strct}", f":1 policy.profile must be {PROFILES}, not strct; did you mean strict?"),
        (TOKEN.replace("PRINCIPAL", "''"), ":1 identity.tokens[0].principal must have at least 1 character"),
        (TOKEN.replace("ROLE", "agnet"), f":1 identity.tokens[0].roles[0] must be {ROLES}, not agnet"),
        ("providers:\n  - {name: a, address: 'unix:/a'}\n  - {name: a, address: 'unix:/b'}",
         " provider names must be unique: a is used more than once"),
        ("server: {drain_s: 1, drain_s: 2}", ":1 drain_s is written twice; the first is in line 1"),
        ("<<: {server: {}}", ":1 merging with << is not supported; write the keys out"),
        ("[1]: 2", ":1 a key must be a word"),
        ("server: !!python/object:os.system {}", ":1 tag:yaml.org,2002:python/object:os.system is not a kind"),
        ("server: !!binary aGk=", ":1 tag:yaml.org,2002:binary is not a kind of value that a configuration holds"),
        ("server: *gone", ":1 is not valid YAML: found undefined alias 'gone'"),
        ("server: {", ":1 is not valid YAML"),
        ("a: 1\n---\nb: 2", ":2 is not valid YAML: but found another document"),
        ("- 1", " must be a mapping of sections, such as `server:`"),
        ("a: &a [*a]", ":1 nests deeper than 32 levels"),
        (b"\xff", " is not UTF-8 at byte 0"),
        ("a: \x00", " is not text that YAML allows: special characters are not allowed"),
        ("#" * (1024 * 1024 + 1), " is larger than 1048576 bytes, which no configuration is"),
    ],
)  # fmt: skip
def test_a_file_that_is_wrong_is_told_so_in_a_plain_sentence(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert any(one.startswith(said) for one in complaints(tmp_path, text)), complaints(tmp_path, text)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("INTERLOCK__SERVER__LISTNE", "x", "server.listne is not a setting; did you mean server.listen?"),
        ("INTERLOCK__", "x", "names no setting; write INTERLOCK__SECTION__KEY"),
        ("INTERLOCK__SERVER__", "x", "names no setting; write INTERLOCK__SECTION__KEY"),
        ("INTERLOCK__SERVER__DRAIN_S__X", "1", "server.drain_s is a single value and has no x"),
        ("INTERLOCK__PROVIDERS__FILES__TOKEN", "x", "providers is a list; name its entry by number, from 0, not FILES"),
        ("INTERLOCK__PROVIDERS__1__TOKEN", "x", "there is no providers[1] to change a part of"),
        ("INTERLOCK__PROVIDERS__1", "{}", "there is no providers[1] to set"),
        ("INTERLOCK__PROVIDERS__0__NAME", "a", "providers[0].address is required"),
        ("INTERLOCK__TOOLS", "{a: {}, a: {}}", "a is written twice; the first is in line 1"),
        ("INTERLOCK__TOOLS", "{a", "is not valid YAML"),
        ("INTERLOCK__TOOLS", "5", "tools must be a mapping, not 5"),
        ("INTERLOCK__SERVER__DRAIN_S", "", "server.drain_s must be a number"),
        ("INTERLOCK__POLICY__WORKERS", "many", "policy.workers must be a whole number, not many"),
    ],
)
def test_a_variable_that_is_wrong_is_named(tmp_path: Path, name: str, value: str, said: str) -> None:
    assert any(one.startswith(f"{name} {said}") for one in complaints(tmp_path, "", {name: value}))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfigError, match=r"none\.yaml: there is no such file; `interlock init` writes one"):
        load_config(tmp_path / "none.yaml", {})


def test_a_directory_is_not_a_configuration(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfigError, match="cannot be read: Is a directory"):
        load_config(tmp_path, {})


def test_what_may_be_a_secret_is_not_repeated(tmp_path: Path) -> None:
    text = "providers: [{name: a, address: 'unix:/a', token: 5551234}]\nstate: {database: [5551234]}\n"
    said = complaints(tmp_path, text)
    assert len(said) == 2
    assert "5551234" not in "".join(said)


def test_a_long_value_is_not_repeated(tmp_path: Path) -> None:
    assert "xxx" not in complaints(tmp_path, f"server: {{drain_s: {'x' * 100}}}")[0]
