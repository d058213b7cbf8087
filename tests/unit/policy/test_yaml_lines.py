"""Where the parts of a YAML file stand."""

import pytest
import yaml
from interlock_gateway.policy.yaml_lines import yaml_lines

TEXT = """\
a:
  b: {c: 1,
      d: 2}
  list:
    - x
    - {y: 1}
base: &base
  z: 1
more:
  <<: *base
  z: 2
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 1),
        (("a", "b", "c"), 2),
        (("a", "b", "d"), 3),
        (("a", "list", 0), 5),
        (("a", "list", 1, "y"), 6),
        (("more", "z"), 11),
        (("a", "b", "not", "there"), 2),
    ],
)
def test_each_key_and_item_has_the_line_of_itself_or_of_what_is_around_it(
    path: tuple[str | int, ...], line: int
) -> None:
    found = yaml_lines(TEXT, "data.yaml")
    assert found.at(*path) == f"data.yaml:{line}"
    assert found.under(*path[:1]).at(*path[1:]) == f"data.yaml:{line}"


def test_what_is_not_there_has_the_file_alone() -> None:
    assert yaml_lines(TEXT, "data.yaml").at("nothing") == "data.yaml"
    assert yaml_lines("", "data.yaml").at("a") == "data.yaml"


def test_a_key_that_is_there_twice_is_found_once_and_what_is_merged_in_is_not_one() -> None:
    assert yaml_lines(TEXT, "f").twice == ()
    assert yaml_lines("a: {b: 1}\nc: 1\na: {b: 2, b: 3}\n", "f").twice == ((("a",), 3),)


def test_a_key_that_is_no_word_is_found_with_what_it_is_read_as() -> None:
    assert yaml_lines("a: 1\nno: 1\n1: 2\n'on': 3\n", "f").odd == ((("no",), 2, False), (("1",), 3, 1))


def test_aliases_without_end_are_not_followed() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    assert len(yaml_lines("\n".join(lines), "f").lines) < 300_000
    with pytest.raises(yaml.YAMLError):
        yaml_lines("a: [", "f")
