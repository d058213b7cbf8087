"""Reads the webhook's two files, strictly: the configuration, and the template that the chart makes."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from interlock_gateway.config_loader.problems import InvalidConfigError, Origin, Problem, SettingPath, dotted
from interlock_gateway.config_loader.wording import origin_of, problem_from
from interlock_gateway.config_loader.yaml_source import read_yaml

MAX_FILE_BYTES = 1024 * 1024
_Model = TypeVar("_Model", bound=BaseModel)


def read_file(file: Path, model: type[_Model]) -> _Model:
    """What `file` holds, as `model`. Raises `InvalidConfigError` with every problem, each with its line."""
    source = read_yaml(_text(file), str(file))
    if source.problems:
        raise InvalidConfigError(source.problems)
    if not isinstance(source.value, dict):
        raise InvalidConfigError([Problem(str(file), f"must be a mapping with {', '.join(_keys(model))}")])
    try:
        return model.model_validate(source.value)
    except ValidationError as error:
        problems = [_problem(one, source.origins, str(file)) for one in error.errors(include_url=False)]
        raise InvalidConfigError(problems) from None


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise InvalidConfigError([Problem(str(file), f"cannot be read: {error.strerror}")]) from None
    if len(data) > MAX_FILE_BYTES:
        raise InvalidConfigError([Problem(str(file), f"is larger than {MAX_FILE_BYTES} bytes")])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidConfigError([Problem(str(file), f"is not UTF-8 at byte {error.start}")]) from None


def _problem(error: ErrorDetails, origins: dict[SettingPath, Origin], name: str) -> Problem:
    if error["type"] != "extra_forbidden":
        found = problem_from(error, origins)
        return found if found.place else Problem(name, found.message)
    path: SettingPath = tuple(error["loc"])
    origin = origin_of(path, origins)
    return Problem(origin.place if origin else name, f"{dotted(path)} is not a setting")


def _keys(model: type[BaseModel]) -> list[str]:
    return [info.alias or name for name, info in model.model_fields.items()]
