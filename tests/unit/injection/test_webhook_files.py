"""The webhook's configuration and template are read strictly, each problem with its place (K8S-1)."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from interlock_gateway.config_loader import InvalidConfigError
from interlock_gateway.injection.settings import load_webhook_config
from interlock_gateway.injection.template import load_template
from reviewing import TEMPLATE_FILE

pytestmark = pytest.mark.req("K8S-1")
CONFIG = "tls: {cert_file: tls.crt, key_file: /keys/tls.key}\ntemplate_file: sidecar.yaml\n"


def complaint(read: Any, file: Path, text: str) -> str:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidConfigError) as caught:
        read(file)
    return str(caught.value).replace(str(file), "FILE")


def test_relative_paths_start_at_the_configurations_directory(tmp_path: Path) -> None:
    file = tmp_path / "webhook.yaml"
    file.write_text(CONFIG, encoding="utf-8")
    config = load_webhook_config(file)
    assert config.tls.cert_file == tmp_path / "tls.crt"
    assert config.tls.key_file == Path("/keys/tls.key")
    assert config.template_file == tmp_path / "sidecar.yaml"
    assert config.listen == "0.0.0.0:7443"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "FILE: must be a mapping with listen, tls, template_file"),
        ("tls: {}", "FILE:1: tls.cert_file is required"),
        (CONFIG + "port: 7443", "FILE:3: port is not a setting"),
        (CONFIG + "listen: unix:/run/x.sock", "FILE:3: listen: must be HOST:PORT"),
        (CONFIG + "listen: ''", "FILE:3: listen: must be HOST:PORT, not empty"),
        (CONFIG + "listen: 'host:99999'", "FILE:3: listen: has port 99999; the highest is 65535"),
        (CONFIG + "metrics_listen: 9464", "FILE:3: metrics_listen must be a string, not 9464"),
        (CONFIG + "drain_delay_s: -1", "FILE:3: drain_delay_s must be at least 0, not -1"),
        (CONFIG + CONFIG, "FILE:3: tls is written twice"),
        ("tls: [", "FILE:1: is not valid YAML"),
    ],
)
def test_a_wrong_configuration_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in complaint(load_webhook_config, tmp_path / "webhook.yaml", text)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfigError, match="cannot be read: No such file"):
        load_webhook_config(tmp_path / "none.yaml")
    (tmp_path / "binary").write_bytes(b"\xff")
    with pytest.raises(InvalidConfigError, match="is not UTF-8 at byte 0"):
        load_template(tmp_path / "binary")
    (tmp_path / "large").write_bytes(b"#" * (1024 * 1024 + 1))
    with pytest.raises(InvalidConfigError, match="is larger than 1048576 bytes"):
        load_template(tmp_path / "large")


def test_a_templates_digest_follows_its_content(tmp_path: Path) -> None:
    again = tmp_path / "again.yaml"
    again.write_text("# a comment\n" + TEMPLATE_FILE.read_text(encoding="utf-8"), encoding="utf-8")
    assert load_template(again).digest == load_template(TEMPLATE_FILE).digest
    again.write_text(TEMPLATE_FILE.read_text(encoding="utf-8").replace("0.1.0", "0.1.1"), encoding="utf-8")
    assert load_template(again).digest != load_template(TEMPLATE_FILE).digest


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: made.update(extra=[]), "extra is not a setting"),
        (lambda made: made.pop("initContainers"), "initContainers is required"),
        (lambda made: made.update(initContainers=[]), "initContainers"),
        (lambda made: made.update(volumes={}), "volumes: Input should be a valid list"),
        (lambda made: [one.pop("restartPolicy") for one in made["initContainers"]], "restartPolicy: Always"),
        (lambda made: made["initContainers"][0].update(name="interlock"), "holds interlock more than once"),
        (lambda made: made["initContainers"][0].pop("name"), "initContainers[0].name: Field required"),
        (lambda made: made["volumes"].append({"name": "interlock-tmp"}), "volumes holds interlock-tmp more than once"),
        (lambda made: made["agentEnv"].append({"value": "x"}), "agentEnv[1].name: Field required"),
        (
            lambda made: made["agentVolumeMounts"].append({"name": "other", "mountPath": "/x"}),
            "agentVolumeMounts mounts other, which is none of volumes",
        ),
        (
            lambda made: made["agentVolumeMounts"].append({"name": "interlock-state", "mountPath": "/x"}),
            "which the sidecar has at /var/lib/interlock: no agent may see that",
        ),
        (
            lambda made: made["agentVolumeMounts"].append({"name": "interlock-tls", "mountPath": "/x"}),
            "which the sidecar has at /etc/interlock/tls: no agent may see that",
        ),
    ],
)
def test_a_template_that_would_not_work_is_refused(tmp_path: Path, change: Any, said: str) -> None:
    made = yaml.safe_load(TEMPLATE_FILE.read_text(encoding="utf-8"))
    change(made)
    assert said in complaint(load_template, tmp_path / "sidecar.yaml", yaml.safe_dump(made))
