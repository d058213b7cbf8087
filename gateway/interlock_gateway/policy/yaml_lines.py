"""Where in a YAML file each value stands, so that what is wrong with one is told with its line."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

Path = tuple[str | int, ...]
_MOST = 200_000
_MERGE = "<<"


@dataclass(frozen=True, slots=True)
class YamlLines:
    """The places in the file called `file`: `file:line` of each key of a mapping and each item of a list.

    `twice` are the keys that their mapping has twice, of which YAML keeps the last, with the line of the second.
    """

    file: str
    lines: dict[Path, int] = field(default_factory=dict)
    twice: tuple[tuple[Path, int], ...] = ()

    def at(self, *path: str | int) -> str:
        """The place of what `path` leads to, or of the innermost thing around it that has one."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return f"{self.file}:{self.lines[path[:end]]}"
        return self.file


def yaml_lines(text: str, file: str) -> YamlLines:
    """The lines of a text that YAML takes. Raises `yaml.YAMLError` and `RecursionError` for one that it does not."""
    lines: dict[Path, int] = {}
    twice: list[tuple[Path, int]] = []
    for path, line, is_key in _walked(yaml.compose(text, Loader=yaml.SafeLoader), ()):
        if is_key and path in lines:
            twice.append((path, line))
        lines[path] = line
        if len(lines) >= _MOST:
            break
    return YamlLines(file, lines, tuple(twice))


def _walked(node: yaml.Node | None, path: Path) -> Iterator[tuple[Path, int, bool]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            # What is merged in stands elsewhere too, and does not say a key twice.
            if key.value == _MERGE and key.tag.endswith(":merge"):
                continue
            inner = (*path, key.value)
            yield inner, key.start_mark.line + 1, True
            yield from _walked(value, inner)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            inner = (*path, number)
            yield inner, item.start_mark.line + 1, False
            yield from _walked(item, inner)
