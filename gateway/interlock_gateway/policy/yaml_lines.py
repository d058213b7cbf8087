"""Where in a YAML file each value stands, so that what is wrong with one is told with its line."""

from dataclasses import dataclass, field, replace

import yaml

Path = tuple[str | int, ...]
_MOST = 200_000
_WORD = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True)
class YamlLines:
    """The places in the file called `file`: `file:line` of each key of a mapping and each item of a list.

    `twice` are the keys that their mapping has twice, of which YAML keeps the last, with the line of the second; `odd`
    those that YAML reads as something else than a word, with the line and what it reads.
    """

    file: str
    lines: dict[Path, int] = field(default_factory=dict)
    twice: tuple[tuple[Path, int], ...] = ()
    odd: tuple[tuple[Path, int, object], ...] = ()
    below: Path = ()

    def at(self, *path: str | int) -> str:
        """The place of what `path` leads to, or of the innermost thing around it that has one."""
        whole = (*self.below, *path)
        for end in range(len(whole), 0, -1):
            if whole[:end] in self.lines:
                return f"{self.file}:{self.lines[whole[:end]]}"
        return self.file

    def under(self, *path: str | int) -> "YamlLines":
        """The places of what lies below `path`."""
        return replace(self, below=(*self.below, *path))


def yaml_lines(text: str, file: str) -> YamlLines:
    """The lines of a text that YAML takes. Raises `yaml.YAMLError` and `RecursionError` for one that it does not."""
    walk = _Walk()
    walk.node(yaml.compose(text, Loader=yaml.SafeLoader), ())
    return YamlLines(file, walk.lines, tuple(walk.twice), tuple(walk.odd))


class _Walk:
    def __init__(self) -> None:
        self.lines: dict[Path, int] = {}
        self.twice: list[tuple[Path, int]] = []
        self.odd: list[tuple[Path, int, object]] = []

    def node(self, node: yaml.Node | None, path: Path) -> None:
        # What names one thing many times by aliases can be without end.
        if len(self.lines) > _MOST:
            return
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                # What is merged in stands elsewhere too, and does not say a key twice.
                if isinstance(key, yaml.ScalarNode) and not key.tag.endswith(":merge"):
                    self._key(key, value, (*path, key.value))
        elif isinstance(node, yaml.SequenceNode):
            for number, item in enumerate(node.value):
                self.lines[*path, number] = item.start_mark.line + 1
                self.node(item, (*path, number))

    def _key(self, key: yaml.ScalarNode, value: yaml.Node, path: Path) -> None:
        line = key.start_mark.line + 1
        if path in self.lines:
            self.twice.append((path, line))
            return
        self.lines[path] = line
        if key.tag != _WORD:
            self.odd.append((path, line, yaml.safe_load(key.value)))
        self.node(value, path)
