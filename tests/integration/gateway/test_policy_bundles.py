"""A gateway whose policy is a signed bundle: what is tampered with never activates, and the last good one serves."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bundle_keys import KeyFiles, key_files, signed_bundle, small_files
from bundle_server import serving
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock_gateway.config import PolicyConfig
from interlock_gateway.config_bundles import BundleConfig, BundleKeyConfig
from interlock_gateway.policy.bundles.archive import read_archive
from interlock_gateway.policy.bundles.building import overlay_files, packed
from interlock_gateway.policy.bundles.signing import SIGNATURES
from jwt.api_jws import PyJWS
from policy_overlays import denying, operating, overlay_in, status_of
from scraping import samples_in, scraped, value
from waiting import eventually_so

SCOPE, KEY_ID, GOOD = "prod", "release", 5


class Release:
    """Who signs bundles, and where the gateway fetches them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.key: KeyFiles = key_files(directory, "ES256", "release")
        self.other: KeyFiles = key_files(directory, "ES256", "other")
        self.file = directory / "bundle.tar.gz"

    def good(self, word: str = "good", sequence: int | None = GOOD, **files: bytes) -> bytes:
        return signed_bundle({**small_files(word, sequence), **files}, self.key.signing(KEY_ID, SCOPE), issued_at=9)

    def publish(self, raw: bytes) -> None:
        new = self.file.with_suffix(".new")
        new.write_bytes(raw)
        new.replace(self.file)

    def policy(self, **changes: Any) -> PolicyConfig:
        key = BundleKeyConfig(id=KEY_ID, file=self.key.public, algorithm="ES256", scope=SCOPE)
        bundle = BundleConfig(url=str(self.file), keys=(key,))
        return PolicyConfig(**{"bundle": bundle, "watch": True, "watch_s": 0.05, "workers": 1, **changes})


@pytest.fixture
def release(socket_directory: Path) -> Release:
    return Release(socket_directory / "release")


async def said(at: Bench) -> str:
    """Which bundle decides: the good ones say so in a note."""
    result = await at.agent.session("s").call("echo", {"text": "x"})
    assert result.status is CallStatus.COMPLETED
    (note,) = result.decision.notes
    return str(note)


def resigned(release: Release, raw: bytes, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> bytes:
    """The bundle with another token, signed with the right key: header and claims as `change` leaves them."""
    files = read_archive(raw, 1 << 20)
    token = PyJWS().decode_complete(json.loads(files[SIGNATURES])["signatures"][0], options={"verify_signature": False})
    header, claims = token["header"], json.loads(token["payload"])
    change(header, claims)
    key = release.key.signing()
    made = PyJWS().encode(json.dumps(claims).encode(), key.key, algorithm="ES256", headers=header)
    # PyJWT writes what it is told, but for a key id that it is not told: that stays away.
    return packed({**files, SIGNATURES: json.dumps({"signatures": [made]}).encode()})


def without_key_id(header: dict[str, Any], claims: dict[str, Any]) -> None:
    del header["kid"], claims["keyid"]


def with_files(release: Release, **changes: bytes | None) -> bytes:
    """A newer good bundle whose files were changed after it was signed; `None` takes one away."""
    files: dict[str, bytes | None] = {**read_archive(release.good("evil", GOOD + 1), 1 << 20), **changes}
    return packed({name: content for name, content in files.items() if content is not None})


def token_by(release: Release, alg: str) -> bytes:
    """A newer bundle whose signature is by another algorithm: none, or the public key taken for a secret."""
    files = read_archive(release.good("evil", GOOD + 1), 1 << 20)
    token = json.loads(files[SIGNATURES])["signatures"][0]
    payload = token.split(".")[1]
    header = base64.urlsafe_b64encode(json.dumps({"alg": alg, "kid": KEY_ID}).encode()).rstrip(b"=").decode()
    signature = ""
    if alg == "HS256":
        mac = hmac.new(release.key.public.read_bytes(), f"{header}.{payload}".encode(), hashlib.sha256).digest()
        signature = base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
    return packed({**files, SIGNATURES: json.dumps({"signatures": [f"{header}.{payload}.{signature}"]}).encode()})


BAD_REGO = b"package interlock\n\nleft := [right |\n"
FAILS = b"package interlock.custom_test\n\ntest_never if {\n\tfalse\n}\n"
ATTACKS: dict[str, tuple[str, Callable[[Release], bytes]]] = {
    # The eight of SEC-6.
    "unsigned": ("bundle_unsigned", lambda _: packed(small_files("evil", GOOD + 1))),
    "stripped": ("bundle_unsigned", lambda r: with_files(r, **{SIGNATURES: None, "a.rego": b"package interlock\n"})),
    "wrong key": (
        "bundle_signature",
        lambda r: signed_bundle(small_files("evil", GOOD + 1), r.other.signing(KEY_ID, SCOPE)),
    ),
    "no key id": ("bundle_key_id_missing", lambda r: resigned(r, r.good("evil", GOOD + 1), without_key_id)),
    "extra file": ("bundle_file_not_signed", lambda r: with_files(r, **{"extra.rego": b"package interlock\n"})),
    "changed file": ("bundle_file_changed", lambda r: with_files(r, **{"main.rego": b"package interlock\n"})),
    "older": ("bundle_older", lambda r: r.good("evil", GOOD - 1)),
    "wrong scope": (
        "bundle_scope",
        lambda r: signed_bundle(small_files("evil", GOOD + 1), r.key.signing(KEY_ID, "test")),
    ),
    # And more.
    "empty signatures": ("bundle_unsigned", lambda r: with_files(r, **{SIGNATURES: b'{"signatures": []}'})),
    "no scope": ("bundle_scope", lambda r: signed_bundle(small_files("evil", GOOD + 1), r.key.signing(KEY_ID))),
    "unknown key": (
        "bundle_unknown_key",
        lambda r: signed_bundle(small_files("evil", GOOD + 1), r.other.signing("other", SCOPE)),
    ),
    "missing file": ("bundle_file_missing", lambda r: with_files(r, **{"main.rego": None})),
    "no algorithm": ("bundle_signature", lambda r: token_by(r, "none")),
    "public key as secret": ("bundle_signature", lambda r: token_by(r, "HS256")),
    "same number, other content": ("bundle_older", lambda r: r.good("evil", GOOD)),
    "no order": (
        "bundle_without_order",
        lambda r: resigned(r, r.good("evil", None), lambda _, claims: claims.pop("iat")),
    ),
    "cut off": ("bundle_malformed", lambda r: r.good("evil", GOOD + 1)[:-20]),
    "nothing": ("bundle_malformed", lambda _: b""),
    "signed, and cannot be read": ("unreadable", lambda r: r.good("evil", GOOD + 1, **{"bad.rego": BAD_REGO})),
    "signed, and fails its own test": (
        "test_failed",
        lambda r: r.good("evil", GOOD + 1, **{"a/custom/x_test.rego": FAILS}),
    ),
    "signed, and decides nothing": (
        "bundle_not_loadable",
        lambda r: r.good("evil", GOOD + 1, **{"main.rego": b"package interlock.other\n"}),
    ),
}


@pytest.mark.req("SEC-6", "LIFE-4", "LIFE-3")
async def test_no_tampered_bundle_activates_and_the_last_good_one_serves(
    socket_directory: Path, release: Release
) -> None:
    release.publish(release.good())
    activated = []
    async with bench(socket_directory, policy=release.policy()) as at:
        first = await status_of(at)
        assert (first.signature_verified, first.bundle_sequence, first.from_disk) == (True, GOOD, False)
        assert await said(at) == "good"
        for name, (code, attack) in ATTACKS.items():
            before = (await status_of(at)).last_reload.time
            release.publish(attack(release))

            async def was_tried(before: Any = before) -> bool:
                return bool((await status_of(at)).last_reload.time != before)

            await eventually_so(was_tried)
            now = await status_of(at)
            assert not now.last_reload.accepted, name
            assert now.last_reload.problems[0].code == code, (name, now.last_reload.problems[0])
            if now.revision != first.revision or await said(at) != "good":
                activated.append(name)
        assert activated == []
        found = samples_in(await scraped(at))
        assert value(found, "interlock_policy_reloads_total", outcome="refused") == len(ATTACKS)
        release.publish(release.good("better", GOOD + 1))

        async def is_better() -> bool:
            return (await status_of(at)).bundle_sequence == GOOD + 1

        await eventually_so(is_better)
        assert await said(at) == "better"


@pytest.mark.req("SEC-6", "LIFE-4")
@pytest.mark.parametrize("name", ["unsigned", "older", "wrong key", "cut off"])
async def test_a_restart_with_a_tampered_bundle_serves_the_last_good_one_from_disk(
    socket_directory: Path, release: Release, name: str
) -> None:
    release.publish(release.good())
    async with bench(socket_directory, policy=release.policy()):
        pass
    code, attack = ATTACKS[name]
    release.publish(attack(release))
    async with bench(socket_directory, policy=release.policy()) as at:
        now = await status_of(at)
        assert (now.from_disk, now.signature_verified, now.last_reload.accepted) == (True, True, False)
        assert now.last_reload.problems[0].code == code
        assert await said(at) == "good"
        release.publish(release.good("better", GOOD + 1))

        async def is_better() -> bool:
            return not (await status_of(at)).from_disk

        await eventually_so(is_better)
        assert await said(at) == "better"


@pytest.mark.req("LIFE-4", "LIFE-7")
async def test_without_a_source_the_bundle_on_disk_decides_and_without_both_nothing_does(
    socket_directory: Path, release: Release
) -> None:
    async with bench(socket_directory, policy=release.policy()) as at:
        now = await status_of(at)
        assert (now.revision, now.engine_healthy, now.from_disk) == ("", False, False)
        assert "bundle.tar.gz" in now.last_reload.problems[0].file
        denied = await at.agent.session("s").call("echo", {"text": "x"})
        assert denied.status is CallStatus.DENIED
        assert denied.decision.reasons[0].code == "gateway_error.policy_unavailable"
        assert at.ledger.ran == []
        assert not at.gateway.state().components[0].healthy
        release.publish(release.good())

        async def is_there() -> bool:
            return (await status_of(at)).engine_healthy

        await eventually_so(is_there)
        assert await said(at) == "good"
    release.file.unlink()
    async with bench(socket_directory, policy=release.policy()) as at:
        now = await status_of(at)
        assert (now.from_disk, now.bundle_sequence) == (True, GOOD)
        assert "cannot be read" in now.source_error
        assert await said(at) == "good"


@pytest.mark.req("SEC-6")
async def test_the_bundle_on_disk_is_verified_again_and_its_order_is_not_forgotten(
    socket_directory: Path, release: Release
) -> None:
    release.publish(release.good())
    async with bench(socket_directory, policy=release.policy()):
        pass
    kept = socket_directory / "state" / "policy"
    assert sorted(path.name for path in kept.iterdir()) == ["bundle.tar.gz", "newest.json"]
    release.file.unlink()
    (kept / "bundle.tar.gz").write_bytes(packed(small_files("evil", GOOD + 1)))
    async with bench(socket_directory, policy=release.policy()) as at:
        assert (await status_of(at)).revision == ""
        assert (await at.agent.session("s").call("echo", {"text": "x"})).status is CallStatus.DENIED
    (kept / "bundle.tar.gz").write_bytes(release.good("evil", GOOD - 1))
    async with bench(socket_directory, policy=release.policy()) as at:
        assert (await status_of(at)).revision == ""
    (kept / "newest.json").write_text("{}")
    release.publish(release.good("better", GOOD + 1))
    async with bench(socket_directory, policy=release.policy()) as at:
        assert (await status_of(at)).last_reload.problems[0].code == "bundle_older"


@pytest.mark.req("SEC-6", "LIFE-4")
async def test_an_operator_may_go_back_to_an_older_bundle_and_it_stays(
    socket_directory: Path, release: Release
) -> None:
    release.publish(release.good())
    async with bench(socket_directory, policy=release.policy(watch=False)) as at:
        release.publish(release.good("before", GOOD - 2))
        async with operating(at) as admin:
            assert not (await admin.reload_policy()).reload.accepted
            assert (await admin.reload_policy(allow_older=True)).reload.accepted
            assert (await admin.reload_policy()).reload.accepted
        assert await said(at) == "before"
    async with bench(socket_directory, policy=release.policy(watch=False)) as at:
        assert await said(at) == "before"
        assert not (await status_of(at)).from_disk


@pytest.mark.req("LIFE-4", "LIFE-3", "LIFE-7")
async def test_a_bundle_comes_from_a_server_and_the_gateway_goes_on_and_starts_without_it(
    socket_directory: Path, release: Release
) -> None:
    key = BundleKeyConfig(id=KEY_ID, file=release.key.public, algorithm="ES256", scope=SCOPE)
    with serving() as server:
        server.content = release.good()
        bundle = BundleConfig(url=f"{server.address}/p.tar.gz", keys=(key,), poll_s=0.05)
        policy = release.policy(bundle=bundle)
        async with bench(socket_directory, policy=policy) as at:
            assert await said(at) == "good"
            server.content, server.etag = release.good("better", GOOD + 1), '"2"'

            async def is_better() -> bool:
                return (await status_of(at)).bundle_sequence == GOOD + 1

            await eventually_so(is_better)
            assert await said(at) == "better"
            server.status, server.etag = 503, '"3"'

            async def is_told() -> bool:
                return "503" in (await status_of(at)).source_error

            await eventually_so(is_told)
            assert await said(at) == "better"
            refused = samples_in(await scraped(at))
            assert value(refused, "interlock_policy_reloads_total", outcome="refused") == 0
            server.status = 200

            async def is_well() -> bool:
                return not (await status_of(at)).source_error

            await eventually_so(is_well)
    async with bench(socket_directory, policy=policy) as at:
        now = await status_of(at)
        assert (now.from_disk, now.signature_verified, now.bundle_sequence) == (True, True, GOOD + 1)
        assert now.source_error
        assert await said(at) == "better"
        assert value(samples_in(await scraped(at)), "interlock_policy_from_disk") == 1
        assert at.gateway.state().serving


@pytest.mark.req("LIFE-4")
async def test_an_overlay_as_a_bundle_goes_on_top_of_what_ships(socket_directory: Path, release: Release) -> None:
    overlay = overlay_in(socket_directory, denying("hush"))
    (overlay / "data.yaml").write_text("settings:\n  confidence:\n    minimum_by_effect: {read_only: 70}\n")
    signing = release.key.signing(KEY_ID, SCOPE)
    release.publish(signed_bundle(overlay_files(overlay, sequence=1), signing))
    async with bench(socket_directory, policy=release.policy(profile="strict")) as at:
        now = await status_of(at)
        assert (now.profile, list(now.sources), now.rules > 30) == ("strict", ["shipped", str(release.file)], True)
        session = at.agent.session("s")
        result = await session.call("echo", {"text": "x", "_flyto_confidence": 10})
        assert result.decision.reasons[0].code == "confidence_below"
        hushed = await session.call("echo", {"text": "hush", "_flyto_confidence": 90})
        assert "not hush" in hushed.text
