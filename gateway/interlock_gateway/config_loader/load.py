"""Defaults, then the file, then the environment: one frozen `Config`, or all that is wrong (contract.md)."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from interlock_gateway.config import Config
from interlock_gateway.config_loader.environment import apply, read_environment
from interlock_gateway.config_loader.problems import InvalidConfigError, Origin, Problem, SettingPath
from interlock_gateway.config_loader.rules import contradictions
from interlock_gateway.config_loader.shape import Kind, Shape, config_shape
from interlock_gateway.config_loader.wording import origin_of, problem_from
from interlock_gateway.config_loader.yaml_source import Source, read_yaml
from interlock_gateway.core.jsonvalue import JsonObject, JsonValue

MAX_FILE_BYTES = 1024 * 1024


def load_config(file: Path | None, environment: Mapping[str, str]) -> Config:
    """The configuration of `file` (none: the defaults) with what `environment` changes.

    Relative paths of `policy`'s files and of `state.dir` start at the file's directory, and elsewhere at the working
    directory. A key without a value takes its default. Raises `InvalidConfigError` with every problem.
    """
    source = _read_file(file) if file is not None else Source({})
    problems = list(source.problems)
    tree = source.value if isinstance(source.value, dict) else {}
    origins = source.origins
    overrides = read_environment(environment, problems)
    refusals = ((override.name, apply(override, tree, origins)) for override in overrides)
    problems.extend(Problem(name, refusal) for name, refusal in refusals if refusal is not None)
    given = _without_nulls(tree, config_shape())
    if isinstance(given, dict):
        _anchor(given, origins, file.absolute().parent if file is not None else Path.cwd())
    config = _validated(given, origins, problems)
    if problems or config is None:
        raise InvalidConfigError(problems)
    return config


def _read_file(file: Path) -> Source:
    def unusable(why: str) -> Source:
        return Source({}, problems=[Problem(str(file), why)])

    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return unusable("there is no such file; `interlock init` writes one, and without --config none is needed")
    except OSError as error:
        return unusable(f"cannot be read: {error.strerror}")
    if len(data) > MAX_FILE_BYTES:
        return unusable(f"is larger than {MAX_FILE_BYTES} bytes, which no configuration is")
    try:
        source = read_yaml(data.decode("utf-8"), str(file))
    except UnicodeDecodeError as error:
        return unusable(f"is not UTF-8 at byte {error.start}")
    if source.value is not None and not isinstance(source.value, dict):
        return unusable("must be a mapping of sections, such as `server:`")
    return source


def _validated(given: JsonValue, origins: dict[SettingPath, Origin], problems: list[Problem]) -> Config | None:
    try:
        config = Config.model_validate(given)
    except ValidationError as error:
        problems.extend(problem_from(one, origins) for one in error.errors(include_url=False))
        return None
    for path, message in contradictions(config):
        origin = origin_of(path, origins)
        problems.append(Problem(origin.place if origin else "", message))
    return config


def _without_nulls(value: JsonValue, shape: Shape | None) -> JsonValue:
    """`value` without the known keys that have no value."""
    if shape is None or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        return [_without_nulls(item, shape.item) for item in value]
    section = shape.kind is Kind.SECTION
    return {
        key: _without_nulls(item, shape.step(key) if section else shape.item)
        for key, item in value.items()
        if item is not None or (section and key not in shape.fields)
    }


def _anchor(tree: JsonObject, origins: Mapping[SettingPath, Origin], directory: Path) -> None:
    """Make the relative paths absolute, those of the file from its directory."""
    state, policy = tree.get("state"), tree.get("policy")
    if isinstance(state, dict):
        state.update(_anchored(state, "dir", ("state", "dir"), origins, directory))
    if isinstance(policy, dict):
        for place in _POLICY_PATHS:
            _anchor_at(policy, ("policy",), place, origins, directory)
    for section, places in _OTHER_PATHS.items():
        for place in places:
            _anchor_at(tree.get(section), (section,), place, origins, directory)


_POLICY_PATHS: tuple[SettingPath, ...] = (
    ("overlays", "*"),
    *(
        (*start, *end)
        for start in (("bundle",), ("shadow", "bundle"))
        for end in (("url",), ("token_file",), ("keys", "*", "file"), ("keys", "*", "secret_file"))
    ),
    ("shadow", "overlays", "*"),
    ("shadow", "allow", "*"),
    *(("opa", name) for name in ("token_file", "ca_file", "client_cert", "client_key")),
)
"""The settings below `policy` that name files; `*` is each item of a list or a mapping."""
_OTHER_PATHS: dict[str, tuple[SettingPath, ...]] = {
    "server": tuple(("tls", name) for name in ("cert_file", "key_file", "client_ca_file", "crl_file")),
    "identity": (("jwt", "*", "ca_file"), ("jwt", "*", "token_file")),
    **{
        section: tuple(("*", "tls", name) for name in ("ca_file", "cert_file", "key_file"))
        for section in ("providers", "provider_credentials")
    },
}


def _anchor_at(
    node: JsonValue, above: SettingPath, below: SettingPath, origins: Mapping[SettingPath, Origin], directory: Path
) -> None:
    """Make what is at `below` in `node` absolute, if it is there."""
    key, *rest = below
    if isinstance(node, list) and key == "*":
        for index, value in enumerate(node):
            node[index] = _anchored_below(value, (*above, index), rest, origins, directory)
    elif isinstance(node, dict) and key == "*":
        for name, value in node.items():
            node[name] = _anchored_below(value, (*above, name), rest, origins, directory)
    elif isinstance(node, dict) and isinstance(key, str) and key in node:
        node[key] = _anchored_below(node[key], (*above, key), rest, origins, directory)


def _anchored_below(
    value: JsonValue,
    path: SettingPath,
    rest: Sequence[str | int],
    origins: Mapping[SettingPath, Origin],
    directory: Path,
) -> JsonValue:
    if rest:
        _anchor_at(value, path, tuple(rest), origins, directory)
        return value
    is_address = isinstance(value, str) and ":/" in value
    return value if is_address else _absolute(value, path, origins, directory)


def _anchored(
    section: JsonObject, key: str, path: SettingPath, origins: Mapping[SettingPath, Origin], directory: Path
) -> JsonObject:
    return {key: _absolute(section[key], path, origins, directory)} if key in section else {}


def _absolute(value: JsonValue, path: SettingPath, origins: Mapping[SettingPath, Origin], directory: Path) -> JsonValue:
    if not isinstance(value, str) or not value:
        return value
    origin = origin_of(path, origins)
    start = directory if origin is not None and origin.relative_to_file else Path.cwd()
    return str(start / Path(value).expanduser())
