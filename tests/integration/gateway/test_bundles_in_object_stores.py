"""
A gateway whose policy is a signed bundle in an object store of each kind that there is (LIFE-4).

The servers run here: versitygw, fake-gcs-server and Azurite. The clouds themselves are not asked.
"""

from pathlib import Path

import pytest
from bundle_keys import key_files, signed_bundle, small_files
from clouds import Cloud
from gateway_bench import Bench, bench
from interlock import CallStatus
from interlock_gateway.artifacts.backend import open_backend
from interlock_gateway.config import PolicyConfig
from interlock_gateway.config_bundles import BundleConfig, BundleKeyConfig
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.sources import open_source
from policy_overlays import status_of
from waiting import eventually_so

NAME = "p.tar.gz"


async def said(at: Bench) -> str:
    """Which bundle decides: each says so in a note."""
    result = await at.agent.session("s").call("echo", {"text": "x"})
    assert result.status is CallStatus.COMPLETED
    (note,) = result.decision.notes
    return str(note)


async def told(at: Bench, words: str) -> None:
    """Return once the status of the policy says that the source is wrong in such words."""

    async def is_told() -> bool:
        return words in (await status_of(at)).source_error

    await eventually_so(is_told)


@pytest.mark.req("LIFE-4", "LIFE-3")
async def test_a_signed_bundle_comes_from_an_object_store_and_the_gateway_goes_on_without_it(
    socket_directory: Path, cloud: Cloud
) -> None:
    key = key_files(socket_directory / "release")
    store = open_backend(cloud.url)

    def release(word: str, sequence: int) -> bytes:
        return signed_bundle(small_files(word, sequence), key.signing("release", "prod"), issued_at=9)

    verified_by = BundleKeyConfig(id="release", file=key.public, algorithm="ES256", scope="prod")
    bundle = BundleConfig(url=f"{cloud.url}/{NAME}", keys=(verified_by,), poll_s=0.05)
    policy = PolicyConfig(bundle=bundle, watch=True, watch_s=0.05, workers=1)
    await store.put(NAME, release("good", 5))
    async with bench(socket_directory, policy=policy) as at:
        assert await said(at) == "good"
        await store.put(NAME, release("better", 6))

        async def is_better() -> bool:
            return (await status_of(at)).bundle_sequence == 6

        await eventually_so(is_better)
        assert await said(at) == "better"
        await store.delete(NAME)
        await told(at, "cannot be had: it is not there")
        assert await said(at) == "better"
    async with bench(socket_directory, policy=policy) as at:
        now = await status_of(at)
        assert (now.from_disk, now.signature_verified, now.bundle_sequence) == (True, True, 6)
        assert await said(at) == "better"


@pytest.mark.req("LIFE-4")
async def test_a_bundle_is_fetched_from_a_store_when_it_is_another_and_within_its_bound(cloud: Cloud) -> None:
    store = open_backend(cloud.url)
    source = open_source(BundleConfig(url=f"{cloud.url}/{NAME}", max_bytes=10))
    await store.put(NAME, b"one")
    first = await source.fetch("")
    assert first is not None
    assert first.raw == b"one"
    assert await source.fetch(first.version) is None
    await store.put(NAME, b"two")
    second = await source.fetch(first.version)
    assert second is not None
    assert (second.raw, second.version != first.version) == (b"two", True)
    await store.put(NAME, b"x" * 11)
    with pytest.raises(BundleError) as refused:
        await source.fetch(second.version)
    assert refused.value.fault is BundleFault.TOO_LARGE


@pytest.mark.req("LIFE-4")
async def test_a_store_that_refuses_says_whether_the_credentials_are_wrong_or_missing(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def problem(url: str) -> str:
        with pytest.raises(BundleError) as refused:
            await open_source(BundleConfig(url=url)).fetch("")
        assert refused.value.fault is BundleFault.UNREACHABLE
        return refused.value.problem

    url = f"{cloud.url}/{NAME}"
    assert "it is not there" in await problem(url.replace("/place", "-of-nobody/place"))
    secret = cloud.use_wrong_credentials(monkeypatch)
    told = await problem(url)
    assert "permission denied" in told
    assert secret not in told
    cloud.use_no_credentials(monkeypatch, platform="127.0.0.1:9")
    assert "no credentials for it can be had" in await problem(url)
