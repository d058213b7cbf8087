"""`interlock policy bundle`: what it builds is the same each time, OPA takes it, and a gateway loads it."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bundle_keys import KeyFiles, key_files, run_opa
from command_runs import run
from interlock_gateway.policy.bundles.loading import load_opened
from interlock_gateway.policy.bundles.opened import open_bundle
from interlock_gateway.policy.loader import load_bundle

RULE = """package interlock.custom

findings contains {"verdict": "deny", "code": "hush", "message": "hush", "rule": "custom/hush"} if {
	input.call.input.text == "hush"
}
"""
TEST = """package interlock.custom_test

test_hush if {
	count(data.interlock.custom.findings) == 1 with input as {"call": {"input": {"text": "hush"}}}
}
"""


EXEMPTION = """exemptions:
  - id: nightly
    rule: confidence/below
    scope: {{tools: [echo]}}
    reason: it is only said again
    owner: platform
    expires: "{expires:%Y-%m-%dT%H:%M:%SZ}"
"""


@pytest.fixture
def house(tmp_path: Path) -> Path:
    overlay, tomorrow = tmp_path / "house", datetime.now(UTC) + timedelta(days=1)
    (overlay / "custom").mkdir(parents=True)
    (overlay / "custom" / "hush.rego").write_text(RULE)
    (overlay / "custom" / "hush_test.rego").write_text(TEST)
    exemption = EXEMPTION.format(expires=tomorrow)
    (overlay / "data.yaml").write_text(
        "settings:\n  confidence:\n    minimum_by_effect: {destructive: 80}\n" + exemption
    )
    return overlay


@pytest.fixture
def key(tmp_path: Path) -> KeyFiles:
    return key_files(tmp_path / "keys")


def built(house: Path, out: Path, *more: str) -> dict[str, Any]:
    done = run("policy", "bundle", "build", str(house), "--out", str(out), *more, "--output", "json")
    assert done.exit_code == 0, done.output
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


def sign(bundle: Path, key: KeyFiles) -> None:
    done = run(
        "policy", "bundle", "sign", str(bundle), "--key", str(key.private), "--algorithm", key.algorithm,
        "--key-id", "k", "--scope", "prod",
    )  # fmt: skip
    assert done.exit_code == 0, done.output


@pytest.mark.req("LIFE-4")
@pytest.mark.parametrize("profile", ["strict", "observe"])
def test_the_whole_policy_is_built_to_the_same_bytes_and_loads_as_the_same_policy(
    house: Path, tmp_path: Path, profile: str
) -> None:
    first, second = tmp_path / "a.tar.gz", tmp_path / "b.tar.gz"
    shown = built(house, first, "--sequence", "3", "--profile", profile)
    built(house, second, "--sequence", "3", "--profile", profile)
    assert first.read_bytes() == second.read_bytes()
    opened = open_bundle(first.read_bytes())
    loaded = load_opened(opened, profile="standard")
    directly = load_bundle(profile=profile, overlays=(house,))
    assert (opened.sequence, loaded.policy, loaded.modules) == (3, directly.policy, directly.modules)
    assert (loaded.data_json, loaded.revision) == (directly.data_json, shown["revision"])
    assert [path for path, _ in loaded.tests] == ["house/custom/hush_test.rego"]


@pytest.mark.req("LIFE-4")
def test_an_overlay_alone_goes_on_top_of_what_ships(house: Path, tmp_path: Path) -> None:
    out = tmp_path / "house.tar.gz"
    built(house, out, "--alone", "--sequence", "1")
    loaded = load_opened(open_bundle(out.read_bytes()), profile="strict")
    settings = json.loads(loaded.data_json)["interlock"]["settings"]
    assert settings["confidence"]["minimum_by_effect"]["destructive"] == 80
    assert loaded.profile == "strict"
    assert "nightly" in json.loads(loaded.data_json)["interlock"]["exemptions"]["entries"]
    assert "bundle/custom/hush.rego" in dict(loaded.modules)


@pytest.mark.req("LIFE-4")
@pytest.mark.parametrize("alone", [(), ("--alone",)])
def test_opa_loads_and_verifies_what_was_built_and_says_which_policy_it_has(
    house: Path, key: KeyFiles, tmp_path: Path, program: Any, alone: tuple[str, ...]
) -> None:
    out, opa = tmp_path / "p.tar.gz", program("opa")
    revision = built(house, out, *alone)["revision"]
    sign(out, key)
    verifying = ("--verification-key", key.public, "--verification-key-id", "k", "--signing-alg", key.algorithm)
    accepted = run_opa(opa, "build", "-b", out, *verifying, "--scope", "prod", "-o", tmp_path / "out.tar.gz")
    assert accepted.returncode == 0, accepted.stdout
    other = run_opa(opa, "build", "-b", out, *verifying, "--scope", "test", "-o", tmp_path / "out.tar.gz")
    assert "scope mismatch" in other.stdout
    if not alone:
        asked = "[data.interlock.revision, data.interlock.profile, data.interlock.enforced]"
        said = run_opa(opa, "eval", "-b", out, "--format", "raw", asked)
        assert json.loads(said.stdout) == [revision, "standard", True]


@pytest.mark.req("LIFE-4")
def test_verify_says_what_a_gateway_would(house: Path, key: KeyFiles, tmp_path: Path) -> None:
    out = tmp_path / "p.tar.gz"
    built(house, out, "--sequence", "4")
    arguments = ("policy", "bundle", "verify", str(out), "--key", str(key.public), "--algorithm", key.algorithm)
    unsigned = run(*arguments)
    assert (unsigned.exit_code, "is not signed" in unsigned.stderr) == (1, True)
    sign(out, key)
    assert run(*arguments, "--key-id", "k").exit_code == 1
    good = run(*arguments, "--key-id", "k", "--scope", "prod")
    assert (good.exit_code, "verified" in good.stdout) == (0, True)
    assert run(*arguments, "--algorithm", "none").exit_code == 2


def test_inspect_shows_what_is_there_and_believes_nothing(house: Path, key: KeyFiles, tmp_path: Path) -> None:
    out = tmp_path / "p.tar.gz"
    built(house, out, "--sequence", "4")
    assert json.loads(run("policy", "bundle", "inspect", str(out), "-o", "json").stdout)["signed"] is False
    sign(out, key)
    shown = json.loads(run("policy", "bundle", "inspect", str(out), "-o", "json").stdout)
    assert (shown["signed"], shown["key_id"], shown["scope"], shown["sequence"]) == (True, "k", "prod", 4)
    assert {"file": "house/custom/hush.rego", "bytes": len(RULE)} in shown["contents"]
    out.write_bytes(b"no bundle")
    assert run("policy", "bundle", "inspect", str(out)).exit_code == 2


def test_what_cannot_be_built_is_told(house: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "p.tar.gz")
    two = run("policy", "bundle", "build", str(house), str(house), "--alone", "--out", out)
    assert two.exit_code != 0
    (house / "custom" / "hush.rego").write_text(RULE.replace("findings contains", "findings contain"))
    assert run("policy", "bundle", "build", str(house), "--out", out).exit_code == 2
    assert not Path(out).exists()


@pytest.mark.req("LIFE-4")
@pytest.mark.parametrize("command", ["verify", "inspect", "sign"])
def test_a_bundle_that_was_cut_off_is_told_by_its_file(
    house: Path, key: KeyFiles, tmp_path: Path, command: str
) -> None:
    whole, cut = tmp_path / "whole.tar.gz", tmp_path / "cut.tar.gz"
    built(house, whole)
    cut.write_bytes(whole.read_bytes()[:2000])
    named = ["--key", str(key.private if command == "sign" else key.public), "--algorithm", key.algorithm]
    with_key = [] if command == "inspect" else named
    done = run("policy", "bundle", command, str(cut), *with_key, "--output", "json")
    assert json.loads(done.stdout)["problems"] == [
        {"file": str(cut), "line": 0, "code": "bundle_malformed", "message": "is cut off"}
    ]
