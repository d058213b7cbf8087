"""The configuration of `interlock webhook`."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from interlock_gateway.config_loader.addresses import TcpAddress, parse_address
from interlock_gateway.config_section import Seconds, Section
from interlock_gateway.injection.files import read_file


class CertificateConfig(Section):
    """The certificate that the webhook shows."""

    cert_file: Path
    """The certificate and those that lead to its authority, in PEM."""
    key_file: Path
    """Its key, in PEM."""
    reload_s: Seconds = 10.0
    """How often both files are looked at. A pair that does not fit leaves the last good one in use."""


class WebhookConfig(Section):
    """Where the webhook listens, and what it puts into pods. Relative paths start at the file's directory."""

    listen: str = "0.0.0.0:7443"
    """`HOST:PORT` for the API server, with TLS; `/livez` and `/readyz` are there too. Port 0 picks a free one."""
    tls: CertificateConfig
    """The certificate."""
    template_file: Path
    """What is put into pods."""
    metrics_listen: str = ""
    """`HOST:PORT` for Prometheus, without TLS; empty: no metrics."""
    drain_delay_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    """How long reviews are still answered after SIGTERM, when `/readyz` says no already."""

    @field_validator("listen", "metrics_listen")
    @classmethod
    def _is_address(cls, text: str) -> str:
        if text and not isinstance(parse_address(text), TcpAddress):
            raise ValueError(f"must be HOST:PORT, not {text}")
        return text

    @field_validator("listen")
    @classmethod
    def _is_there(cls, text: str) -> str:
        if not text:
            raise ValueError("must be HOST:PORT, not empty")
        return text


def load_webhook_config(file: Path) -> WebhookConfig:
    """The configuration in `file`. Raises `InvalidConfigError` with every problem, each with its line."""
    config = read_file(file, WebhookConfig)
    start = file.absolute().parent
    tls = config.tls.model_copy(
        update={"cert_file": start / config.tls.cert_file, "key_file": start / config.tls.key_file}
    )
    return config.model_copy(update={"tls": tls, "template_file": start / config.template_file})
