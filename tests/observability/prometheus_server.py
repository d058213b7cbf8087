"""A real Prometheus, which scrapes gateways that are named to it and evaluates the alerts that come with the chart."""

import json
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alert_rules import RULES
from waiting import eventually_blocking

STARTING_S = 30.0
_LISTENING = re.compile(r'msg="Listening on" address=(?P<address>\S+)')


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A server that runs, asked over its HTTP API."""

    url: str

    def query(self, expression: str, at: float | None = None) -> list[dict[str, Any]]:
        """The vector that an expression gives at a Unix time, or now."""
        found = self._get("query", {"query": expression, **({"time": at} if at else {})})
        vector: list[dict[str, Any]] = found["result"]
        return vector

    def query_range(self, expression: str, start: float, end: float, step_s: float) -> list[dict[str, Any]]:
        """The matrix that an expression gives between two Unix times."""
        asked = {"query": expression, "start": start, "end": end, "step": step_s}
        matrix: list[dict[str, Any]] = self._get("query_range", asked)["result"]
        return matrix

    def exemplars(self, expression: str, start: float, end: float) -> list[dict[str, Any]]:
        """The exemplars of series between two Unix times; kept with the feature `exemplar-storage` alone."""
        found: list[dict[str, Any]] = self._get("query_exemplars", {"query": expression, "start": start, "end": end})
        return found

    def rules(self) -> list[dict[str, Any]]:
        """Every rule, with how its last evaluation went."""
        return [rule for group in self._get("rules", {})["groups"] for rule in group["rules"]]

    def targets(self) -> list[dict[str, Any]]:
        """Every target, with how its last scrape went."""
        active: list[dict[str, Any]] = self._get("targets", {})["activeTargets"]
        return active

    def series(self) -> list[dict[str, str]]:
        """The labels of every series that gateways have shown."""
        found: Any = self._get("series", {"match[]": '{__name__=~"interlock_.*"}'})
        return list(found)

    def _get(self, path: str, asked: dict[str, Any]) -> Any:
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(asked)}", timeout=10) as answer:
            said = json.load(answer)
        assert said["status"] == "success", said
        assert not said.get("warnings"), said["warnings"]
        return said["data"]


@contextmanager
def running_prometheus(
    program: Path,
    directory: Path,
    targets: Sequence[str],
    *,
    scrape_s: float,
    evaluate_s: float = 1.0,
    features: Sequence[str] = (),
) -> Iterator[Prometheus]:
    """One in `directory`, which scrapes `targets` (`HOST:PORT`) as the job `interlock`; ended with the block."""
    config = {
        "global": {
            "scrape_interval": _ms(scrape_s),
            "scrape_timeout": _ms(scrape_s),
            "evaluation_interval": _ms(evaluate_s),
        },
        "rule_files": [str(RULES)],
        "scrape_configs": [
            {"job_name": "interlock", "static_configs": [{"targets": list(targets), "labels": {"namespace": "agents"}}]}
        ],
    }
    written = directory / "prometheus.yml"
    written.write_text(json.dumps(config))  # JSON is YAML too
    command = [str(program), f"--config.file={written}", f"--storage.tsdb.path={directory}/data"]
    command += [f"--enable-feature={feature}" for feature in features]
    log = directory / "prometheus.log"
    with log.open("wb") as output:
        process = subprocess.Popen([*command, "--web.listen-address=127.0.0.1:0"], stdout=output, stderr=output)
    try:
        yield Prometheus(_ready(process, log))
    finally:
        process.kill()
        process.wait()


def _ready(process: "subprocess.Popen[bytes]", log: Path) -> str:
    """Where it listens, once it answers."""

    def ready() -> bool:
        text = log.read_text(errors="replace")
        assert process.poll() is None, text
        return "Server is ready to receive web requests" in text

    eventually_blocking(ready, STARTING_S)
    found = _LISTENING.search(log.read_text(errors="replace"))
    assert found is not None
    return f"http://{found['address']}"


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f}ms"
