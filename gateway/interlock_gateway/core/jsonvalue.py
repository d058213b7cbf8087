"""The types of JSON values as they travel through the gateway."""

from collections.abc import Mapping
from typing import TypeAlias

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
JsonObject: TypeAlias = dict[str, JsonValue]
FrozenJsonObject: TypeAlias = Mapping[str, JsonValue]
