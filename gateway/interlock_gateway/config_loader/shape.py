"""The tree of settings, read from the models: which keys there are, and what each holds."""

import difflib
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from interlock_gateway.config import Config
from interlock_gateway.config_loader.problems import SettingPath, dotted


class Kind(StrEnum):
    """What stands at a place of the tree."""

    SECTION = "section"
    LIST = "list"
    MAP = "map"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Shape:
    """A place in the tree: a section has `fields`, a list or a map has an `item`, a value has its `annotation`."""

    kind: Kind
    annotation: Any = None
    fields: dict[str, "Shape"] = field(default_factory=dict)
    infos: dict[str, FieldInfo] = field(default_factory=dict)
    item: "Shape | None" = None

    def step(self, part: str | int) -> "Shape | None":
        """What stands at `part` of this place; `None` when nothing can."""
        if self.kind is Kind.SECTION:
            return self.fields.get(str(part))
        return self.item

    def at(self, path: SettingPath) -> "Shape | None":
        """What stands at `path` below this place; `None` when nothing can."""
        here: Shape | None = self
        for part in path:
            here = here.step(part) if here is not None else None
        return here

    def names(self, above: SettingPath = ()) -> Iterator[SettingPath]:
        """Every section's and value's path, parents first, without the items of lists and maps."""
        for name, shape in self.fields.items():
            yield (*above, name)
            yield from shape.names((*above, name))


@cache
def config_shape() -> Shape:
    """The shape of the whole configuration."""
    return shape_of(Config)


def shape_of(annotation: Any) -> Shape:
    """The shape of a model or of a field's type."""
    annotation = _bare(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        infos = dict(annotation.model_fields)
        return Shape(Kind.SECTION, annotation, {name: shape_of(info.annotation) for name, info in infos.items()}, infos)
    if get_origin(annotation) is tuple:
        return Shape(Kind.LIST, annotation, item=shape_of(get_args(annotation)[0]))
    if get_origin(annotation) is dict:
        return Shape(Kind.MAP, annotation, item=shape_of(get_args(annotation)[1]))
    return Shape(Kind.VALUE, annotation)


def nearest(path: SettingPath) -> str:
    """What an unknown key was probably meant to be: `; did you mean server.listen?`, or nothing."""
    *above, wrong = path
    shape = config_shape()
    section = shape.at(tuple(above))
    siblings = list(section.fields) if section is not None else []
    close = difflib.get_close_matches(str(wrong), siblings, n=1)
    if close:
        return f"; did you mean {dotted((*above, close[0]))}?"
    elsewhere = {str(known[-1]): known for known in reversed(list(shape.names()))}
    close = difflib.get_close_matches(str(wrong), elsewhere, n=1, cutoff=0.8)
    return f"; did you mean {dotted(elsewhere[close[0]])}?" if close else ""


def _bare(annotation: Any) -> Any:
    """The type without constraints and without `| None`."""
    if get_origin(annotation) is Annotated:
        return _bare(get_args(annotation)[0])
    if get_origin(annotation) in {Union, types.UnionType}:
        left = [one for one in get_args(annotation) if one is not type(None)]
        return _bare(left[0]) if len(left) == 1 else annotation
    return annotation
