"""A call's input from the command line: one JSON object, or `key=value` words."""

import json
import sys
from pathlib import Path
from typing import Any

import typer


def read_input(words: list[str]) -> dict[str, Any] | str:
    """What the words say. A JSON object is handed on as it was written, so that the gateway judges the same bytes.

    `key=text`, `key:=JSON`, `key=@FILE` (its text), `-` (JSON from standard input). Raises `typer.BadParameter`.
    """
    if not words:
        return {}
    if len(words) == 1 and words[0] == "-":
        return sys.stdin.read()
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        return words[0]
    found: dict[str, Any] = {}
    for word in words:
        key, value = _pair(word)
        if key in found:
            raise typer.BadParameter(f"{key} is given twice")
        found[key] = value
    return found


def read_object(text: str, about: str) -> dict[str, Any]:
    """A JSON object given as text, or as `@FILE`. Raises `typer.BadParameter` naming `about`."""
    written = _file(text[1:]) if text.startswith("@") else text
    try:
        value = json.loads(written)
    except ValueError as error:
        raise typer.BadParameter(f"{about} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise typer.BadParameter(f"{about} must be a JSON object")
    return value


def _pair(word: str) -> tuple[str, Any]:
    name, equals, text = word.partition("=")
    if not equals or not name.rstrip(":"):
        raise typer.BadParameter(f"{word} is neither key=text, key:=JSON, a JSON object nor -")
    if name.endswith(":"):
        try:
            return name[:-1], json.loads(text)
        except ValueError as error:
            raise typer.BadParameter(
                f"the value of {name[:-1]} is not JSON: {error}; key=text takes it as text"
            ) from None
    return name, _file(text[1:]) if text.startswith("@") else text


def _file(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{name} cannot be read: {error}") from None
