"""From nothing to a gateway: `init`, `token`, `config`, `check --offline`."""

import hashlib
import socket
import stat
from pathlib import Path

import pytest
import yaml
from command_runs import run, run_json
from interlock_gateway.cli.init import FILES
from interlock_gateway.config import Config
from interlock_gateway.config_loader import load_config
from interlock_gateway.policy.loader import load_bundle


def test_init_writes_a_configuration_that_loads_and_policies_that_load(tmp_path: Path) -> None:
    made = run_json("init", tmp_path / "new")
    config = load_config(tmp_path / "new" / "interlock.yaml", {})
    assert config.identity.tokens[0].sha256 == hashlib.sha256(made["token"].encode()).hexdigest()
    assert config.identity.tokens[0].principal == made["principal"]
    bundle = load_bundle(profile=config.policy.profile, overlays=config.policy.overlays)
    assert "policies/custom/protected_branch.rego" in dict(bundle.modules)
    assert [provider.name for provider in config.providers] == ["toolbox"]


def test_the_workspace_of_agents_holds_neither_the_configuration_nor_the_policies(tmp_path: Path) -> None:
    run_json("init", tmp_path)
    (root,) = load_config(tmp_path / "interlock.yaml", {}).workspace_roots
    assert root == str(tmp_path / "workspace")


def test_init_says_the_token_once_and_keeps_it_nowhere(tmp_path: Path) -> None:
    shown = run("init", tmp_path).stdout
    token = next(word for word in shown.split() if word.startswith("ilk_"))
    assert shown.count(token) == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file() and token in path.read_text()] == []
    assert stat.S_IMODE((tmp_path / "interlock.yaml").stat().st_mode) == 0o600


@pytest.mark.parametrize("name", FILES)
def test_init_never_overwrites_and_writes_nothing_when_it_would(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("mine")
    ended = run("init", tmp_path)
    assert ended.exit_code == 1
    assert str(tmp_path / name) in ended.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / name]
    assert (tmp_path / name).read_text() == "mine"


def test_init_says_what_to_do_next(tmp_path: Path) -> None:
    shown = run("init", tmp_path / "with space").stdout
    config = f"'{tmp_path}/with space/interlock.yaml'"
    assert f"interlock serve --config {config} &" in shown
    assert f"interlock toolbox --root '{tmp_path}/with space/workspace' &" in shown


def test_a_token_comes_with_the_entry_that_the_configuration_holds_of_it() -> None:
    made = run_json("token", "--principal", "ci", "--role", "agent", "--role", "auditor", "--group", "sre")
    assert hashlib.sha256(made.pop("token").encode()).hexdigest() == made["sha256"]
    entry = Config.model_validate({"identity": {"tokens": [made]}}).identity.tokens[0]
    assert (entry.principal, entry.roles, entry.groups) == ("ci", ("agent", "auditor"), ("sre",))


def test_the_entry_shown_to_people_can_be_pasted() -> None:
    shown = run("token", "--principal", "ci").stdout
    pasted = shown.partition("in the configuration:\n")[2].partition("\n\n")[0]
    assert Config.model_validate(yaml.safe_load(pasted)).identity.tokens[0].principal == "ci"


def test_the_configuration_in_force_is_shown_without_its_secrets(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(
        "providers: [{name: a, address: 'unix:/a', token: geheim}]\n"
        "provider_credentials: {mesh: {token: geheim}}\n"
        "state: {database: 'postgresql://u:geheim@db/i?sslmode=require&password=geheim'}\n"
    )
    shown = run_json("config", "show", "--config", file, env={"INTERLOCK__SERVER__DRAIN_S": "7"})
    assert shown["server"]["drain_s"] == 7
    assert shown["providers"][0]["token"] == "***"
    assert shown["provider_credentials"]["mesh"]["token"] == "***"
    assert shown["state"]["database"] == "postgresql://***@db/i?sslmode=require&password=***"
    text = run("config", "show", "--config", file).stdout
    assert "geheim" not in text
    assert yaml.safe_load(text)["providers"][0]["name"] == "a"


def test_the_schema_is_printed_as_it_is_committed() -> None:
    committed = Path(__file__).parents[3] / "docs" / "config.schema.json"
    assert run("config", "schema").stdout == committed.read_text(encoding="utf-8")


def test_check_looks_at_everything_and_changes_nothing(tmp_path: Path, socket_directory: Path) -> None:
    run_json("init", tmp_path)
    env = {"INTERLOCK__STATE__DIR": str(socket_directory / "state"), "INTERLOCK__SERVER__LISTEN": "127.0.0.1:0",
           "INTERLOCK__METRICS__LISTEN": "127.0.0.1:0"}  # fmt: skip
    shown = run_json("check", "--offline", "--config", tmp_path / "interlock.yaml", env=env)
    assert shown["ok"] is True
    assert {check["what"].split()[0] for check in shown["checks"]} == {
        "configuration", "policies", "state", "database", "audit", "artifacts", "listen"
    }  # fmt: skip
    assert list(socket_directory.iterdir()) == []


def test_check_fails_for_a_provider_that_is_not_there(tmp_path: Path, socket_directory: Path) -> None:
    run_json("init", tmp_path)
    env = {"INTERLOCK__STATE__DIR": str(socket_directory), "INTERLOCK__SERVER__LISTEN": "127.0.0.1:0",
           "INTERLOCK__METRICS__LISTEN": ""}  # fmt: skip
    shown = run_json("check", "--config", tmp_path / "interlock.yaml", env=env, code=1)
    failed = [check for check in shown["checks"] if not check["ok"]]
    assert [check["what"] for check in failed] == ["provider toolbox"]


def test_check_fails_for_policies_that_do_not_load_and_names_the_place(tmp_path: Path, socket_directory: Path) -> None:
    run_json("init", tmp_path)
    (tmp_path / "policies" / "data.yaml").write_text("settings: {confidense: {}}\n")
    env = {"INTERLOCK__STATE__DIR": str(socket_directory), "INTERLOCK__SERVER__LISTEN": "127.0.0.1:0",
           "INTERLOCK__METRICS__LISTEN": ""}  # fmt: skip
    shown = run_json("check", "--offline", "--config", tmp_path / "interlock.yaml", env=env, code=1)
    (failed,) = [check for check in shown["checks"] if not check["ok"]]
    assert failed["what"] == "policies"
    assert "data.yaml" in failed["detail"]
    assert "did you mean confidence?" in failed["detail"]


@pytest.mark.parametrize("where", ["SERVER__LISTEN", "MCP__LISTEN", "SERVER__HEALTH_LISTEN"])
def test_check_says_which_address_is_taken(where: str, socket_directory: Path, taken_port: int) -> None:
    env = {"INTERLOCK__STATE__DIR": str(socket_directory), "INTERLOCK__SERVER__LISTEN": "127.0.0.1:0",
           "INTERLOCK__METRICS__LISTEN": "", f"INTERLOCK__{where}": f"127.0.0.1:{taken_port}"}  # fmt: skip
    shown = run_json("check", "--offline", env=env, code=1)
    (failed,) = [check for check in shown["checks"] if not check["ok"]]
    assert failed == {"what": f"listen 127.0.0.1:{taken_port}", "ok": False, "detail": "Address already in use"}


def test_check_says_which_socket_somebody_else_listens_on(socket_directory: Path) -> None:
    path = socket_directory / "agent.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()
        env = {"INTERLOCK__STATE__DIR": str(socket_directory), "INTERLOCK__SERVER__LISTEN": f"unix:{path}",
               "INTERLOCK__METRICS__LISTEN": ""}  # fmt: skip
        shown = run_json("check", "--offline", env=env, code=1)
    (failed,) = [check for check in shown["checks"] if not check["ok"]]
    assert failed == {"what": f"listen unix:{path}", "ok": False, "detail": "another process listens there"}


def test_check_fails_for_a_state_directory_that_anybody_can_write_to(socket_directory: Path) -> None:
    socket_directory.chmod(0o777)
    env = {"INTERLOCK__STATE__DIR": str(socket_directory), "INTERLOCK__SERVER__LISTEN": "127.0.0.1:0",
           "INTERLOCK__METRICS__LISTEN": ""}  # fmt: skip
    shown = run_json("check", "--offline", env=env, code=1)
    (failed,) = [check for check in shown["checks"] if not check["ok"]]
    assert failed["what"] == "state"
    assert str(socket_directory) in failed["detail"]
