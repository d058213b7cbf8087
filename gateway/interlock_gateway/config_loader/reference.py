"""The configuration's JSON Schema and its documentation, both made from the models, so that neither can lag behind."""

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from interlock_gateway.config import Config
from interlock_gateway.config_loader.environment import PREFIX
from interlock_gateway.config_loader.problems import SettingPath
from interlock_gateway.config_loader.shape import Kind, Shape, config_shape
from interlock_gateway.core.jsonvalue import JsonObject

SCHEMA_ID = "https://interlock.dev/schemas/config-1.json"
_INTRODUCTION = """\
# Configuration

<!-- Made from the models by `python -m interlock_gateway.config_loader.reference`; do not edit by hand. -->

One YAML file, given by `--config` or `INTERLOCK_CONFIG`. None is needed: every key has a safe default. `interlock init`
writes a file to start from, `interlock check` says what is wrong with one, `interlock config show` prints what is in
force, and [config.schema.json](config.schema.json) is its JSON Schema, for editors and charts.

- An unknown key is an error that names it, its line and the nearest known key. All errors are reported at once.
- A key without a value takes its default. Keys are never taken from elsewhere: merging with `<<` is refused.
- Every key can be set in the environment: `INTERLOCK__SERVER__LISTEN=unix:/run/interlock/agent.sock`, with two
  underscores between the parts. The environment wins over the file, the file over the default. Lists and mappings are
  given as YAML or JSON (`INTERLOCK__SERVER__LISTEN='["unix:/run/a.sock", "127.0.0.1:0"]'`); a mapping is merged with
  what is there, a list replaces it. An entry of a list is named by its number (`INTERLOCK__PROVIDERS__0__TOKEN`).
  With `INTERLOCK_VARIABLES=secrets`, as the chart sets it, only settings that are secrets may be variables, such as
  `INTERLOCK__PROVIDERS__0__TOKEN`; any other is refused at the start.
- Relative paths in the file start at the file's directory, where the key says so.
- The configuration is read once, at the start. Policies are reloaded without a restart; the rest is not.
- Refused, because it is not safe: listening beyond loopback without `server.tls` or `server.plaintext_beyond_loopback`,
  operators' listeners that are not Unix sockets, one socket for agents and operators, anonymous agents on a listener
  that other hosts can reach, a credential or a principal that is an agent and decides about calls too, a principal with
  a name that certificates or an issuer's tokens could have.
"""


def config_schema() -> JsonObject:
    """The JSON Schema (draft 2020-12) of the configuration file."""
    schema: JsonObject = Config.model_json_schema(mode="validation")
    schema.pop("description", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        **schema,
        "title": "Interlock configuration",
    }


def schema_text() -> str:
    """The schema as it is committed."""
    return json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"


def reference_markdown() -> str:
    """The documentation of every setting, as it is committed."""
    return "\n".join((_INTRODUCTION, *_section((), config_shape())))


def _section(path: SettingPath, shape: Shape) -> Iterator[str]:
    below: list[tuple[SettingPath, Shape]] = []
    rows = []
    for name, inner in shape.fields.items():
        info = shape.infos[name]
        target = inner.item if inner.kind in {Kind.LIST, Kind.MAP} and inner.item is not None else inner
        if target.kind is Kind.SECTION:
            below.append(((*path, name + _SUFFIX[inner.kind]), target))
        if inner.kind is not Kind.SECTION:
            rows.append(_row((*path, name), inner, info))
    if rows:
        yield "| key | holds | default | meaning |"
        yield "|---|---|---|---|"
        yield from rows
        yield ""
    for place, target in below:
        yield f"## {'.'.join(str(part) for part in place)}"
        yield ""
        yield _one_line(target.annotation.__doc__ or "")
        yield ""
        yield from _section(place, target)


_SUFFIX = {Kind.SECTION: "", Kind.LIST: "[]", Kind.MAP: ".NAME", Kind.VALUE: ""}


def _row(path: SettingPath, shape: Shape, info: FieldInfo) -> str:
    name = f"`{path[-1]}`"
    if all("[]" not in str(part) and ".NAME" not in str(part) for part in path):
        name += f"<br>`{PREFIX}{'__'.join(str(part).upper() for part in path)}`"
    meaning = _one_line(info.description or "")
    return f"| {name} | {_holds(info, shape)} | {_default(info)} | {_cell(meaning)} |"


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True, validated_data={})
    if value is None or value is PydanticUndefined:
        return ""
    return f"`{_cell(json.dumps(_plain(value), ensure_ascii=False))}`"


def _plain(value: Any) -> Any:
    """A default as it would be written in the file."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict | bool | int | float | str) and not isinstance(value, StrEnum):
        return value
    return str(value)


def _holds(info: FieldInfo, shape: Shape) -> str:
    words = _type_words(shape)
    limits = ", ".join(_limit(one) for one in _constraints(info.annotation, info.metadata) if _limit(one))
    return _cell(f"{words}; {limits}" if limits else words)


def _constraints(annotation: Any, metadata: list[Any]) -> Iterator[Any]:
    yield from metadata
    if get_origin(annotation) is Annotated:
        yield from get_args(annotation)[1:]
    for inner in get_args(annotation):
        if get_origin(inner) is Annotated:
            yield from _constraints(inner, [])


def _limit(constraint: Any) -> str:
    if isinstance(constraint, FieldInfo):
        return ", ".join(filter(None, (_limit(one) for one in constraint.metadata)))
    words = []
    for name, sign in (("gt", "above"), ("ge", "at least"), ("lt", "below"), ("le", "at most")):
        bound = getattr(constraint, name, None)
        if bound is not None:
            words.append(f"{sign} {bound}")
    if (pattern := getattr(constraint, "pattern", None)) is not None:
        words.append(f"matching `{pattern}`")
    return " and ".join(words)


def _type_words(shape: Shape) -> str:
    if shape.kind is Kind.LIST and shape.item is not None:
        return "list of sections" if shape.item.kind is Kind.SECTION else f"list of {_type_words(shape.item)}"
    if shape.kind is Kind.MAP and shape.item is not None:
        return (
            "mapping by name" if shape.item.kind is Kind.SECTION else f"mapping of names to {_type_words(shape.item)}"
        )
    annotation = shape.annotation
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{choice}`" for choice in get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return " or ".join(f"`{choice.value}`" for choice in annotation if choice.value)
    return _WORDS.get(getattr(annotation, "__name__", ""), "value")


_WORDS = {"str": "text", "int": "whole number", "float": "number", "bool": "true or false", "Path": "path"}


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":  # pragma: no cover - the freshness test checks what this writes
    from pathlib import Path

    docs = Path(__file__).resolve().parents[3] / "docs"
    (docs / "configuration.md").write_text(reference_markdown(), encoding="utf-8")
    (docs / "config.schema.json").write_text(schema_text(), encoding="utf-8")
