"""What a file and the environment say becomes one frozen configuration."""

from pathlib import Path

import pytest
from interlock_gateway.config import Config
from interlock_gateway.config_loader import InvalidConfigError, load_config
from pydantic import ValidationError


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "interlock.yaml"
    file.write_text(text)
    return file


def test_without_a_file_and_without_variables_the_defaults_hold() -> None:
    assert load_config(None, {}) == Config()


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    assert load_config(written(tmp_path, "# nothing yet\n"), {}) == Config()


def test_the_environment_beats_the_file_and_the_file_beats_the_default(tmp_path: Path) -> None:
    file = written(tmp_path, "server: {drain_s: 5}\npolicy: {workers: 3, profile: strict}\n")
    config = load_config(file, {"INTERLOCK__SERVER__DRAIN_S": "7"})
    assert (config.server.drain_s, config.policy.workers, config.policy.profile) == (7.0, 3, "strict")
    assert config.limits == Config().limits


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load_config(None, {}).server.drain_s = 1.0


def test_a_key_without_a_value_takes_its_default(tmp_path: Path) -> None:
    file = written(tmp_path, "server:\nproviders:\nlimits:\n  max_depth:\ntools:\n  bash:\n    read_only:\n")
    config = load_config(file, {})
    assert config.server == Config().server
    assert config.providers == ()
    assert config.limits.max_depth == 64


def test_words_that_yaml_reads_as_something_else_stay_words_when_they_are_keys(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, "tools:\n  on: {read_only: true}\n  1: {read_only: false}\n"), {})
    assert list(config.tools) == ["on", "1"]


def test_anchors_repeat_a_value(tmp_path: Path) -> None:
    file = written(tmp_path, "tools:\n  a: &safe {read_only: true, min_confidence: 70}\n  b: *safe\n")
    assert load_config(file, {}).tools["b"].min_confidence == 70


@pytest.mark.parametrize(
    ("value", "listen"),
    [
        ("unix:/run/a.sock", ("unix:/run/a.sock",)),
        ('["unix:/run/a.sock", "127.0.0.1:0"]', ("unix:/run/a.sock", "127.0.0.1:0")),
        ("- unix:/run/a.sock\n- 127.0.0.1:0", ("unix:/run/a.sock", "127.0.0.1:0")),
        ("unix:{state}/agent.sock", ("unix:{state}/agent.sock",)),
    ],
)
def test_a_list_in_the_environment_is_one_entry_or_yaml(value: str, listen: tuple[str, ...]) -> None:
    assert load_config(None, {"INTERLOCK__SERVER__LISTEN": value}).server.listen == listen


def test_single_values_in_the_environment_are_taken_as_written() -> None:
    config = load_config(
        None,
        {
            "INTERLOCK__SERVER__SOCKET_MODE": "0660",
            "INTERLOCK__AUDIT__DIR": "{state}/receipts",
            "INTERLOCK__METRICS__LISTEN": "",
            "INTERLOCK__IDENTITY__ANONYMOUS_AGENTS_ON_LOOPBACK": "true",
            "INTERLOCK__LIMITS__MAX_DEPTH": "12",
        },
    )
    assert config.server.socket_mode == "0660"
    assert config.audit.dir == "{state}/receipts"
    assert config.metrics.listen == ""
    assert config.identity.anonymous_agents_on_loopback is True
    assert config.limits.max_depth == 12


def test_one_entry_of_a_list_is_changed_by_its_number(tmp_path: Path) -> None:
    file = written(tmp_path, "providers:\n  - {name: files, address: '127.0.0.1:5000'}\n")
    config = load_config(
        file,
        {"INTERLOCK__PROVIDERS__0__TOKEN": "12345", "INTERLOCK__PROVIDERS__1": "{name: more, address: 'unix:/a'}"},
    )
    assert [(one.name, one.token) for one in config.providers] == [("files", "12345"), ("more", "")]


def test_a_mapping_in_the_environment_is_merged_with_the_file_and_a_longer_name_changes_a_part_of_it(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, "tools:\n  bash: {min_confidence: 50, destructive: true}\n")
    config = load_config(
        file,
        {
            "INTERLOCK__TOOLS": '{"bash": {"min_confidence": 60}, "sql": {"timeout_s": 5}}',
            "INTERLOCK__TOOLS__sql__TIMEOUT_S": "9",
        },
    )
    assert config.tools["bash"].min_confidence == 60
    assert config.tools["bash"].destructive is True
    assert config.tools["sql"].timeout_s == 9.0


def test_variables_of_the_sdk_and_of_others_are_not_settings() -> None:
    assert load_config(None, {"INTERLOCK_ADDRESS": "x", "INTERLOCK_TOKEN": "y", "PATH": "z"}) == Config()


def test_relative_paths_of_the_file_start_at_its_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    file = written(tmp_path, "policy: {overlays: [policies, /etc/more, ~/mine]}\nstate: {dir: state}\n")
    config = load_config(file, {})
    assert config.policy.overlays == (tmp_path / "policies", Path("/etc/more"), tmp_path / "home" / "mine")
    assert config.state_dir == tmp_path / "state"


def test_relative_paths_of_the_environment_start_at_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = load_config(None, {"INTERLOCK__POLICY__OVERLAYS": "policies", "INTERLOCK__STATE__DIR": "state"})
    assert config.policy.overlays == (tmp_path / "policies",)
    assert config.state_dir == tmp_path / "state"


def test_every_problem_is_told_at_once_line_by_line(tmp_path: Path) -> None:
    file = written(tmp_path, "serve:\n  drain_s: 1\nserver:\n  drain_s: soon\n  drain_s: 2\n")
    with pytest.raises(InvalidConfigError) as caught:
        load_config(file, {"INTERLOCK__LIMITS__MAX_DEPTH": "deep"})
    assert [(problem.place, problem.message) for problem in caught.value.problems] == [
        (f"{file}:1", "serve is not a setting; did you mean server?"),
        (f"{file}:4", "server.drain_s must be a number, not soon"),
        (f"{file}:5", "drain_s is written twice; the first is in line 4"),
        ("INTERLOCK__LIMITS__MAX_DEPTH", "limits.max_depth must be a whole number, not deep"),
    ]
    assert str(caught.value).splitlines()[0] == f"{file}:1: serve is not a setting; did you mean server?"


def test_where_only_secrets_may_be_variables_every_other_one_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "providers: [{name: a, address: '127.0.0.1:1'}]\nprovider_credentials: {b: {}}\n")
    secrets = {"INTERLOCK__PROVIDERS__0__TOKEN": "s", "INTERLOCK__PROVIDER_CREDENTIALS__b__TOKEN": "t"}
    only = {"INTERLOCK_VARIABLES": "secrets", "INTERLOCK_CONFIG": str(file)}
    assert load_config(file, secrets | only).providers[0].token == "s"
    others = {"INTERLOCK__POLICY__PROFILE": "observe", "INTERLOCK__PROVIDERS__0__ADDRESS": "127.0.0.1:2"}
    with pytest.raises(InvalidConfigError) as refused:
        load_config(file, secrets | only | others)
    words = "may not be set here, because INTERLOCK_VARIABLES is secrets: write it into the configuration file"
    assert [str(one) for one in refused.value.problems] == [f"{name}: {words}" for name in sorted(others)]
    with pytest.raises(InvalidConfigError, match=r"INTERLOCK_VARIABLES.* has to be all or secrets, not none"):
        load_config(file, {"INTERLOCK_VARIABLES": "none"})
    assert load_config(file, {"INTERLOCK_VARIABLES": "all", "INTERLOCK__POLICY__PROFILE": "strict"}).policy.profile
