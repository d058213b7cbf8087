"""A bundle from an HTTP server, in the way that OPA asks for one: entity tags, no deltas, a bearer token."""

import asyncio
import logging
import ssl

import httpx2

from interlock_gateway.config_bundles import BundleConfig
from interlock_gateway.policy.bundles.errors import BundleError, BundleFault
from interlock_gateway.policy.bundles.sources import Fetched, shown, too_large

FETCH_S = 30.0
"""The longest that one answer may take, however slowly it drips."""
CONNECT_S = 5.0
_HEADERS = {
    "accept": "application/vnd.openpolicyagent.bundles, application/gzip, application/octet-stream;q=0.9, */*;q=0.5",
    # What is fetched is compressed, and its size is bounded as it comes.
    "accept-encoding": "identity",
    "prefer": "modes=snapshot",
    "user-agent": "interlock",
}
_OK, _NOT_MODIFIED = 200, 304
# At other levels these write down whole addresses and headers, which hold secrets.
for _name in ("httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class HttpSource:
    """A server that answers with the bundle."""

    settles = False

    def __init__(self, config: BundleConfig) -> None:
        self._config = config
        self._shown = shown(config.url)
        timeout = httpx2.Timeout(FETCH_S, connect=CONNECT_S)
        # No proxy, no netrc: what decides about calls comes from where the configuration says, and only with its token.
        verify = ssl.create_default_context() if config.url.startswith("https:") else False
        self._client = httpx2.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=False, verify=verify)

    async def fetch(self, known: str) -> Fetched | None:
        """Ask for the bundle; `known` is the entity tag of the one that is there."""
        headers = dict(_HEADERS)
        if known:
            headers["if-none-match"] = known
        if self._config.token_file is not None:
            headers["authorization"] = f"Bearer {await asyncio.to_thread(self._token)}"
        try:
            async with asyncio.timeout(FETCH_S):
                return await self._asked(headers)
        except TimeoutError as error:
            raise self._unreachable(f"took more than {FETCH_S:.0f} s") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            # Only the kind: the words of some hold the whole address.
            raise self._unreachable(f"cannot be had: {type(error).__name__}") from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _asked(self, headers: dict[str, str]) -> Fetched | None:
        async with self._client.stream("GET", self._config.url, headers=headers) as answer:
            if answer.status_code == _NOT_MODIFIED and "if-none-match" in headers:
                return None
            if answer.status_code != _OK:
                raise self._unreachable(f"cannot be had: HTTP {answer.status_code}")
            raw = bytearray()
            async for piece in answer.aiter_raw():
                raw += piece
                if len(raw) > self._config.max_bytes:
                    raise too_large(self._config.max_bytes, self._shown)
            return Fetched(bytes(raw), answer.headers.get("etag", ""))

    def _token(self) -> str:
        assert self._config.token_file is not None
        try:
            token = self._config.token_file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise self._unreachable(f"cannot be asked: its token_file cannot be read: {error}") from error
        if not token or not token.isprintable():
            raise self._unreachable("cannot be asked: its token_file holds no token")
        return token

    def _unreachable(self, problem: str) -> BundleError:
        return BundleError(BundleFault.UNREACHABLE, problem, self._shown)
