"""The injection webhook as a process runs it (K8S-1): its listener, its certificate, its metrics, and its end."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from interlock_gateway.injection.settings import WebhookConfig
from interlock_gateway.injection.template import Template, load_template
from interlock_gateway.telemetry.exposition import exposed
from interlock_gateway.telemetry.injection import InjectionMetrics
from interlock_gateway.transport.http.admission import Admission
from interlock_gateway.transport.http.certificates import ServedCertificate, seconds_left
from interlock_gateway.transport.http.listener import address_of, bound, serving

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WebhookEndpoints:
    """Where a running webhook is reached, and which template it puts into pods; `metrics` is empty without them."""

    reviews: str
    metrics: str
    template: str


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook that serves."""

    endpoints: WebhookEndpoints
    admission: Admission
    certificate: ServedCertificate


async def serve_webhook(config: WebhookConfig, ready: Callable[[WebhookEndpoints], None]) -> None:
    """Answer reviews until SIGTERM or SIGINT, and `drain_delay_s` longer; a second signal ends that wait.

    Raises `ConfigError` when configuration, template or certificate cannot be used.
    """
    stop, now = asyncio.Event(), asyncio.Event()

    def asked_to_end() -> None:
        (now if stop.is_set() else stop).set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked_to_end)
    async with webhook(config, load_template(config.template_file)) as running:
        ready(running.endpoints)
        await stop.wait()
        running.admission.ready = False
        _log.info("the webhook ends")
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(now.wait(), config.drain_delay_s)


@asynccontextmanager
async def webhook(config: WebhookConfig, template: Template) -> AsyncIterator[Webhook]:
    """A webhook that answers inside the block; what it was asked by then is answered. Raises `ConfigError`."""
    certificate = ServedCertificate(config.tls.cert_file, config.tls.key_file)
    metrics = InjectionMetrics(lambda: seconds_left(certificate))
    admission = Admission(template, lambda outcome: metrics.reviewed(outcome.value))
    async with exposed(config.metrics_listen, metrics.registry) as scraped:
        with bound(config.listen) as listening:
            endpoints = WebhookEndpoints(address_of(listening), scraped, template.digest)
            async with serving(admission.app(), listening, certificate.context):
                following = asyncio.create_task(certificate.follow(config.tls.reload_s))
                try:
                    yield Webhook(endpoints, admission, certificate)
                finally:
                    following.cancel()
                    await asyncio.wait([following])
