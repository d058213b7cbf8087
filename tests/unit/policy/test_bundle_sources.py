"""Bundles are fetched from files, servers and object stores: when they changed, within bounds, and as configured."""

import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from bundle_server import BundleServer, serving
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from interlock_gateway.config_bundles import BundleConfig
from interlock_gateway.policy.bundles import http_source
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.object_source import ObjectSource, open_object_source
from interlock_gateway.policy.bundles.sources import BundleSource, Fetched, open_source
from obstore.store import MemoryStore


@pytest.fixture
def server() -> Iterator[BundleServer]:
    with serving() as made:
        yield made


async def fetched(source: BundleSource, known: str = "") -> Fetched | None:
    try:
        return await source.fetch(known)
    finally:
        await source.close()


async def refused(source: BundleSource) -> BundleError:
    with pytest.raises(BundleError) as caught:
        await fetched(source)
    return caught.value


@pytest.mark.req("LIFE-4")
@pytest.mark.parametrize("form", ["{}", "file://{}"])
async def test_a_file_is_read_when_it_is_another(tmp_path: Path, form: str) -> None:
    file = tmp_path / "a b.tar.gz"
    source = open_source(BundleConfig(url=form.format(str(file).replace(" ", "%20") if "file" in form else file)))
    assert (await refused(source)).fault is BundleFault.UNREACHABLE
    file.write_bytes(b"one")
    first = await fetched(source)
    assert first is not None
    assert first.raw == b"one"
    assert await fetched(source, first.version) is None
    (tmp_path / "new").write_bytes(b"two")
    (tmp_path / "new").replace(file)
    second = await fetched(source, first.version)
    assert second is not None
    assert second.raw == b"two"
    assert source.settles


async def test_what_is_no_file_or_too_large_is_refused(tmp_path: Path) -> None:
    assert (await refused(open_source(BundleConfig(url=str(tmp_path))))).fault is BundleFault.UNREACHABLE
    os.mkfifo(tmp_path / "pipe")
    assert "no file" in (await refused(open_source(BundleConfig(url=str(tmp_path / "pipe"))))).problem
    (tmp_path / "large").write_bytes(b"x" * 11)
    large = open_source(BundleConfig(url=str(tmp_path / "large"), max_bytes=10))
    assert (await refused(large)).fault is BundleFault.TOO_LARGE


@pytest.mark.req("LIFE-4")
async def test_a_server_is_asked_with_the_entity_tag_and_the_token(server: BundleServer, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("t0ken\n")
    server.content = b"bundle"
    source = open_source(BundleConfig(url=f"{server.address}/policies/p.tar.gz?x=1", token_file=token))
    assert await source.fetch("") == Fetched(b"bundle", '"1"')
    token.write_text("another")
    assert await source.fetch('"1"') is None
    server.etag, server.content = '"2"', b"newer"
    assert await fetched(source, '"1"') == Fetched(b"newer", '"2"')
    first, second, _ = server.asked
    assert server.paths[0] == "/policies/p.tar.gz?x=1"
    assert (first["authorization"], second["authorization"]) == ("Bearer t0ken", "Bearer another")
    assert "if-none-match" not in first
    assert (second["if-none-match"], second["accept-encoding"]) == ('"1"', "identity")
    assert second["prefer"] == "modes=snapshot"
    assert "application/vnd.openpolicyagent.bundles" in second["accept"]
    assert not source.settles


async def test_a_server_without_entity_tags_is_asked_for_everything(server: BundleServer) -> None:
    server.content, server.etag = b"bundle", ""
    assert await fetched(open_source(BundleConfig(url=server.address))) == Fetched(b"bundle", "")


@pytest.mark.parametrize("status", [204, 206, 301, 302, 304, 307, 401, 404, 500])
async def test_every_other_answer_is_no_bundle_and_redirects_are_not_followed(
    server: BundleServer, status: int, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("t0ken")
    server.status = status
    server.headers = {"Location": f"{server.address}/elsewhere"}
    source = open_source(BundleConfig(url=f"{server.address}/p?key=hidden", token_file=tmp_path / "token"))
    error = await refused(source)
    assert error.fault is BundleFault.UNREACHABLE
    assert str(status) in error.problem
    assert "hidden" not in str(error)
    assert server.paths == ["/p?key=hidden"]


async def test_an_answer_is_read_up_to_its_bound(server: BundleServer) -> None:
    server.content = b"x" * 1001
    assert (await refused(open_source(BundleConfig(url=server.address, max_bytes=1000)))).fault is BundleFault.TOO_LARGE

    def endless(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        try:
            while True:
                request.wfile.write(b"400\r\n" + b"x" * 1024 + b"\r\n")
        except OSError:
            request.close_connection = True

    server.answer = endless
    source = open_source(BundleConfig(url=server.address, max_bytes=100_000))
    assert (await refused(source)).fault is BundleFault.TOO_LARGE


async def test_what_a_server_compressed_once_more_is_taken_as_it_came(server: BundleServer) -> None:
    server.content, server.headers = b"\x1f\x8b not looked into", {"Content-Encoding": "gzip"}
    got = await fetched(open_source(BundleConfig(url=server.address)))
    assert got is not None
    assert got.raw == server.content


async def test_a_server_that_drips_is_given_up(server: BundleServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_source, "FETCH_S", 0.2)

    def cut_off(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "100")
        request.end_headers()
        request.wfile.write(b"x")
        request.wfile.flush()
        request.rfile.read(1)  # until the other end has had enough
        request.close_connection = True

    server.answer = cut_off
    assert (await refused(open_source(BundleConfig(url=server.address)))).fault is BundleFault.UNREACHABLE


async def test_a_server_that_is_not_there_and_a_token_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with serving() as gone:
        address = gone.address
    assert (await refused(open_source(BundleConfig(url=address)))).fault is BundleFault.UNREACHABLE
    for content in (None, "", "two\nlines"):
        if content is not None:
            (tmp_path / "token").write_text(content)
        source = open_source(BundleConfig(url=address, token_file=tmp_path / "token"))
        assert "token_file" in (await refused(source)).problem


def certificate(directory: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that nobody knows, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (directory / "cert.pem").write_bytes(made.public_bytes(Encoding.PEM))
    (directory / "key.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return directory / "cert.pem", directory / "key.pem"


@pytest.mark.req("LIFE-4")
async def test_a_server_is_known_by_its_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain, key = certificate(tmp_path)
    with serving(chain, key) as server:
        server.content = b"bundle"
        assert server.address.startswith("https:")
        assert "ConnectError" in (await refused(open_source(BundleConfig(url=server.address)))).problem
        assert server.asked == []
        monkeypatch.setenv("SSL_CERT_FILE", str(chain))
        assert await fetched(open_source(BundleConfig(url=server.address))) == Fetched(b"bundle", '"1"')


@pytest.mark.req("LIFE-4")
async def test_an_object_is_fetched_when_it_is_another() -> None:
    store = MemoryStore()
    source = ObjectSource(store, "p.tar.gz", 10, "s3://b/p.tar.gz")
    assert (await refused(source)).fault is BundleFault.UNREACHABLE
    await store.put_async("p.tar.gz", b"one")
    first = await source.fetch("")
    assert first is not None
    assert first.raw == b"one"
    assert await source.fetch(first.version) is None
    await store.put_async("p.tar.gz", b"two")
    second = await source.fetch(first.version)
    assert second is not None
    assert second.raw == b"two"
    await store.put_async("p.tar.gz", b"x" * 11)
    assert (await refused(source)).fault is BundleFault.TOO_LARGE


@pytest.mark.req("LIFE-4")
async def test_an_s3_store_is_asked_by_its_protocol(server: BundleServer, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {
        "AWS_ENDPOINT": server.address,
        "AWS_ALLOW_HTTP": "true",
        "AWS_SKIP_SIGNATURE": "true",
        "AWS_REGION": "eu-central-1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    server.content, server.headers = b"bundle", {"Last-Modified": "Mon, 02 Mar 2026 11:00:00 GMT"}
    source = open_source(BundleConfig(url="s3://policies/prod/p.tar.gz"))
    assert await source.fetch("") == Fetched(b"bundle", '"1"')
    assert server.paths == ["/policies/prod/p.tar.gz"]
    assert await source.fetch('"1"') is None


def test_an_address_that_names_no_object_is_refused() -> None:
    with pytest.raises(BundleError, match="no address"):
        open_object_source(BundleConfig(url="ftp://x/y"))


def test_a_gateway_without_bundles_loads_nothing_for_them() -> None:
    asked = "import sys, interlock_gateway.app; print([name for name in ('jwt', 'httpx2') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
