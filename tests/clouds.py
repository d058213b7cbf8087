"""Places in stores of each kind, as an operator says them: a URL, and variables of the environment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import pytest

CLOUDS = ("s3", "gs", "az")
_SERVERS = {"s3": "s3", "gs": "gcs", "az": "azure"}
_NOT_THE_SECRET = "bm8tc3VjaC1zZWNyZXQ="
_WRONG = {
    "s3": {"AWS_SECRET_ACCESS_KEY": _NOT_THE_SECRET},
    "gs": {"GOOGLE_BEARER_TOKEN": _NOT_THE_SECRET},
    "az": {"AZURE_STORAGE_ACCOUNT_KEY": _NOT_THE_SECRET},
}
_OF_THE_PLATFORM = {
    "s3": ("AWS_METADATA_ENDPOINT", "http://{}", ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")),
    "gs": ("GCE_METADATA_HOST", "{}", ("GOOGLE_BEARER_TOKEN",)),
    "az": ("IDENTITY_ENDPOINT", "http://{}", ("AZURE_STORAGE_ACCOUNT_KEY",)),
}


class Server(Protocol):
    """A server of some protocol."""

    def bucket(self) -> str: ...

    def environment(self, endpoint: str = "") -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Cloud:
    """A place in an empty bucket."""

    kind: str
    server: Server
    url: str

    def use(self, monkeypatch: pytest.MonkeyPatch, endpoint: str = "") -> None:
        """Have clients find it, at `endpoint` when given."""
        for name, value in self.server.environment(endpoint).items():
            monkeypatch.setenv(name, value)

    def use_wrong_credentials(self, monkeypatch: pytest.MonkeyPatch) -> str:
        """Have clients come with others; what must not be shown of them."""
        for name, value in _WRONG[self.kind].items():
            monkeypatch.setenv(name, value)
        return _NOT_THE_SECRET

    def use_no_credentials(self, monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
        """Have clients come with none, and ask `platform` (host:port) for some."""
        variable, form, own = _OF_THE_PLATFORM[self.kind]
        for name in own:
            monkeypatch.delenv(name)
        monkeypatch.setenv(variable, form.format(platform))
        if self.kind == "gs":
            monkeypatch.setenv("GCE_METADATA_IP", platform)


def cloud_of(kind: str, request: pytest.FixtureRequest) -> Cloud:
    """A place of that kind; the test is skipped, saying why, where its server cannot be had."""
    server = request.getfixturevalue(_SERVERS[kind])
    name = server.bucket()
    return Cloud(kind, server, f"{name if '://' in name else f's3://{name}'}/place")
