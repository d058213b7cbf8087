"""Which arguments hold a path or a command: the operator says, else the tool's schema, else their names."""

import time
from typing import Any

import pytest
from facts_calls import Facts, names_of
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.req("PIPE-5")

ROOTS = ("/workspace",)


def pointers(document: dict[str, Any]) -> list[str]:
    return [found["argument"] for found in document["file"]["arguments"]]


def annotated(kind: str = "path", **more: object) -> dict[str, object]:
    return {"type": "string", "x-interlock-fact": kind, **more}


@pytest.mark.parametrize(
    "name", ["path", "file_path", "file", "filename", "directory", "dir", "cwd", "source", "target_file"]
)
def test_sensible_names_are_taken_for_paths(facts: Facts, name: str) -> None:
    assert pointers(facts("file", {name: "x", "text": "/etc"}, roots=ROOTS)) == [f"/{name}"]


@pytest.mark.parametrize("name", ["command", "cmd", "script"])
def test_sensible_names_are_taken_for_commands(facts: Facts, name: str) -> None:
    assert names_of(facts("bash", {name: "zap", "text": "zip"})["bash"]) == "zap"


def test_annotations_go_before_names(facts: Facts) -> None:
    schema = {"properties": {"place": annotated(), "path": {"type": "string"}}}
    assert pointers(facts("file", {"place": "x", "path": "y"}, schema=schema, roots=ROOTS)) == ["/place"]


def test_the_operators_configuration_goes_before_annotations(facts: Facts) -> None:
    schema = {"properties": {"place": annotated()}}
    document = facts("file", {"place": "x", "spot": "y"}, schema=schema, names={"path": ("spot",)}, roots=ROOTS)
    assert pointers(document) == ["/spot"]


def test_an_annotation_of_another_kind_is_not_for_this_class(facts: Facts) -> None:
    schema = {"properties": {"place": annotated("url"), "path": {"type": "string"}}}
    assert pointers(facts("file", {"place": "x", "path": "y"}, schema=schema, roots=ROOTS)) == ["/path"]


def test_each_string_of_a_list_is_a_path(facts: Facts) -> None:
    schema = {"properties": {"places": {"type": "array", "items": annotated()}, "spots": annotated(type="array")}}
    document = facts("file", {"places": ["x", "y"], "spots": ["z"]}, schema=schema, roots=ROOTS)
    assert pointers(document) == ["/places/0", "/places/1", "/spots/0"]
    assert pointers(facts("file", {"paths": ["x", "y"]}, roots=ROOTS)) == ["/paths/0", "/paths/1"]


def test_annotations_are_found_in_nested_objects_lists_and_references(facts: Facts) -> None:
    schema = {
        "properties": {
            "a": {"properties": {"b": annotated()}},
            "edits": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
            "c": {"anyOf": [{"type": "null"}, {"properties": {"d": {"allOf": [annotated()]}}}]},
        },
        "$defs": {"edit": {"properties": {"at": annotated(), "again": {"$ref": "#/$defs/edit"}}}},
    }
    given = {"a": {"b": "x"}, "edits": [{"at": "y"}, {"at": "z", "again": {"at": "w"}}], "c": {"d": "v"}}
    assert set(pointers(facts("file", given, schema=schema, roots=ROOTS))) == {
        "/a/b",
        "/edits/0/at",
        "/edits/1/at",
        "/edits/1/again/at",
        "/c/d",
    }


def test_names_are_found_in_nested_objects_and_lists(facts: Facts) -> None:
    given = {"edits": [{"file_path": "x"}, {"file_path": "y"}], "file": {"path": "z"}, "paths": [{"path": "v"}, "w"]}
    assert set(pointers(facts("file", given, roots=ROOTS))) == {
        "/edits/0/file_path",
        "/edits/1/file_path",
        "/file/path",
        "/paths/0/path",
        "/paths/1",
    }


def test_a_pointer_escapes_what_a_name_may_contain(facts: Facts) -> None:
    document = facts("file", {"a/b~c": {"path": "x"}}, roots=ROOTS)
    assert pointers(document) == ["/a~1b~0c/path"]


@pytest.mark.parametrize("given", [3, ["x", 3], {"name": "x"}, [["x"]], [{}]])
def test_a_path_that_is_no_string_is_an_error(facts: Facts, given: object) -> None:
    document = facts("file", {"path": given}, roots=ROOTS)
    assert document["extracted"] is False
    assert "not a string" in document["error"]
    assert document["file"]["inside"] is False


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"path": {"type": "string"}}, "required": ["path"]},
        {"properties": {"place": annotated()}, "required": ["place"]},
    ],
)
@pytest.mark.parametrize("given", [{}, {"path": None, "place": None}])
def test_a_required_path_that_is_missing_is_said(
    facts: Facts, schema: dict[str, object], given: dict[str, object]
) -> None:
    document = facts("file", given, schema=schema, roots=ROOTS)
    assert (document["extracted"], document["file"]["inside"]) == (False, False)
    assert "required path is missing" in document["error"]


def test_a_configured_path_that_is_missing_is_said(facts: Facts) -> None:
    document = facts("file", {"path": "x"}, names={"path": ("spot",)}, roots=ROOTS)
    assert document["error"] == "a required path is missing: /spot"


def test_an_optional_path_that_is_not_given_means_the_working_directory(facts: Facts) -> None:
    schema = {"properties": {"path": {"type": "string"}, "pattern": {"type": "string"}}, "required": ["pattern"]}
    document = facts("file", {"pattern": "x"}, schema=schema, roots=ROOTS)
    [found] = document["file"]["arguments"]
    assert (found["implied"], found["normalised"], found["inside"]) == (True, "/workspace", True)
    assert facts("file", {"pattern": "x"}, schema=schema)["extracted"] is False


def test_a_call_without_any_path_is_not_extracted(facts: Facts) -> None:
    document = facts("file", {"text": "x"}, roots=ROOTS)
    assert (document["extracted"], document["error"]) == (False, "no argument that holds a path was found")


@pytest.mark.parametrize(
    "given",
    [
        {"paths": ["x"] * 300},
        {"edits": [{"path": "x"}] * 300},
        {"edits": [{"other": "x"}] * 5000},
    ],
)
def test_more_arguments_than_are_looked_at_are_said(facts: Facts, given: dict[str, object]) -> None:
    document = facts("file", given, roots=ROOTS)
    assert document["extracted"] is False
    assert "more path arguments" in document["error"]


def test_a_schema_that_refers_to_itself_ends(facts: Facts) -> None:
    schema: dict[str, object] = {"properties": {"a": {"$ref": "#"}, "path": annotated()}, "anyOf": [{"$ref": "#"}]}
    assert pointers(facts("file", {"a": {"a": {"path": "x"}}}, schema=schema, roots=ROOTS)) == ["/a/a/path"]


@pytest.mark.parametrize(
    "schema", [{"properties": 3}, {"properties": {"path": 3}}, {"required": "path"}, {"$ref": 3}, {"anyOf": {}}]
)
def test_a_schema_that_is_none_is_no_hindrance(facts: Facts, schema: dict[str, object]) -> None:
    assert pointers(facts("file", {"path": "x"}, schema=schema, roots=ROOTS)) == ["/path"]


@pytest.mark.req("REL-7")
@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [{"title": str(number)} for number in range(300)]},
        {
            "properties": {f"p{number}": {"$ref": "#/$defs/many"} for number in range(3000)},
            "$defs": {"many": {"anyOf": [{"title": str(number)} for number in range(200)]}},
        },
    ],
)
def test_a_schema_with_more_in_it_than_is_looked_at_is_said(facts: Facts, schema: dict[str, object]) -> None:
    document = facts("file", {"path": "x"}, schema=schema, roots=ROOTS)
    assert document["extracted"] is False
    assert "more path arguments" in document["error"]


def test_each_of_many_alternatives_is_looked_at(facts: Facts) -> None:
    kinds: list[dict[str, object]] = [{"properties": {f"place{number}": annotated()}} for number in range(200)]
    document = facts("file", {"place0": "x", "place199": "y"}, schema={"oneOf": kinds}, roots=ROOTS)
    assert sorted(pointers(document)) == ["/place0", "/place199"]


@pytest.mark.parametrize(
    "name",
    [
        *("FilePath", "PATH", "File-Path", "file path", "output_path", "outputPath", "logFile", "saveDir", "path2"),
        *("working_directory", "notebook_path", "outfile"),
    ],
)
def test_names_are_read_by_their_words(facts: Facts, name: str) -> None:
    document = facts("file", {"path": "x", name: "/etc/passwd"}, roots=ROOTS)
    assert pointers(document) == ["/path", f"/{name}"]
    assert document["file"]["inside"] is False


@given(
    words=st.lists(st.sampled_from(["output", "log", "My", "NEW", "x2"]), max_size=3),
    last=st.sampled_from(["path", "File", "DIR", "folders"]),
    joined=st.sampled_from(["_", "-", " ", "."]),
)
def test_a_name_is_found_however_its_words_are_joined(facts: Facts, words: list[str], last: str, joined: str) -> None:
    snake, camel = joined.join([*words, last]), "".join(word.capitalize() for word in [*words, last])
    for name in (snake, camel, camel[:1].lower() + camel[1:]):
        document = facts("file", {"path": "x", "more": [{name: "/etc/passwd"}]}, roots=ROOTS)
        assert document["file"]["inside"] is False, name


@pytest.mark.parametrize("name", ["profile", "pathology", "exclude_paths", "ignored_files", "filed", "content"])
def test_names_that_only_look_alike_are_left_out(facts: Facts, name: str) -> None:
    assert pointers(facts("file", {"path": "x", name: "/etc"}, roots=ROOTS)) == ["/path"]


@pytest.mark.parametrize("given", [10, True, "", None, ["x", 3], [""]])
def test_what_cannot_be_a_path_is_none_because_its_name_ends_like_one(facts: Facts, given: object) -> None:
    document = facts("file", {"path": "x", "max_files": given}, roots=ROOTS)
    assert (document["extracted"], pointers(document)) == (True, ["/path"])


@pytest.mark.parametrize("name", ["to", "from", "output", "root", "saveAs"])
@pytest.mark.parametrize(
    "given", ["/etc/passwd", "../x", "..", "a/../../x", "~/x", "C:\\x", "..\\x", "\\\\a\\b", "file:///x"]
)
def test_a_value_that_says_that_it_is_a_path_is_one_under_names_that_may_be_so(
    facts: Facts, name: str, given: str
) -> None:
    document = facts("file", {"path": "x", name: given}, roots=ROOTS)
    assert (pointers(document), document["file"]["inside"]) == (["/path", f"/{name}"], False)


@pytest.mark.parametrize("name", ["repository", "origin", "link", "from", "input"])
def test_a_url_under_such_names_is_for_no_rule_on_files(facts: Facts, name: str) -> None:
    document = facts("file", {"path": "x", name: "https://example.com/x.git"}, roots=ROOTS)
    assert (document["extracted"], pointers(document)) == (True, ["/path"])


@pytest.mark.parametrize("given", ["json", "the first line.\nthe second", "report.md", 3, True, ["json"]])
def test_other_values_under_such_names_are_none(facts: Facts, given: object) -> None:
    document = facts("file", {"path": "x", "output": given}, roots=ROOTS)
    assert (document["extracted"], pointers(document)) == (True, ["/path"])


@pytest.mark.parametrize(
    "given",
    [
        {"files": {"/etc/passwd": "its text", "path": "x"}},
        {"paths": [["/etc/passwd"], {"path": "x"}]},
        {"paths": [{"path": "x"}, {"/etc/passwd": 1, "path": "y"}]},
        {"paths": [{"path": "x"}, {"place": "/etc/passwd"}]},
    ],
)
def test_nothing_is_hidden_beside_a_path_that_is_found(facts: Facts, given: dict[str, object]) -> None:
    document = facts("file", given, roots=ROOTS)
    assert (document["extracted"] and document["file"]["inside"]) is False


@pytest.mark.parametrize(
    ("schema", "given", "found"),
    [
        ({"additionalProperties": annotated()}, {"any": "x"}, ["/any"]),
        ({"patternProperties": {"^at": annotated()}}, {"at1": "x", "at2": "y"}, ["/at1", "/at2"]),
        ({"properties": {"at": {"prefixItems": [{}, annotated()]}}}, {"at": [1, "x", "y"]}, ["/at/1"]),
        ({"additionalProperties": {"properties": {"at": annotated()}}}, {"any": {"at": "x"}}, ["/any/at"]),
    ],
)
def test_annotations_hold_for_what_a_schema_does_not_list(
    facts: Facts, schema: dict[str, object], given: dict[str, object], found: list[str]
) -> None:
    assert pointers(facts("file", given, schema=schema, roots=ROOTS)) == found


def test_a_required_path_of_something_that_is_left_out_is_not_missing(facts: Facts) -> None:
    inner: dict[str, object] = {"properties": {"at": annotated()}, "required": ["at"]}
    schema = {"properties": {"path": annotated(), "more": inner}}
    document = facts("file", {"path": "x"}, schema=schema, roots=ROOTS)
    assert (document["extracted"], pointers(document)) == (True, ["/path"])
    assert facts("file", {"path": "x", "more": {}}, schema=schema, roots=ROOTS)["extracted"] is False


def test_a_schema_that_goes_on_for_ever_where_nothing_is_given_hinders_nothing(facts: Facts) -> None:
    tree: dict[str, object] = {
        "properties": {name: {"type": "array", "items": {"$ref": "#/$defs/tree"}} for name in ("and", "or", "not")}
    }
    schema = {"properties": {"path": annotated(), "where": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}}
    document = facts("file", {"path": "x"}, schema=schema, roots=ROOTS)
    assert (document["extracted"], pointers(document)) == (True, ["/path"])


@pytest.mark.parametrize("name", ["URL", "start_url", "startUrls", "feedUri", "base_uri", "http_proxy"])
def test_names_of_urls_are_read_by_their_words(facts: Facts, name: str) -> None:
    document = facts("webfetch", {"url": "https://example.com/", name: "https://10.0.0.1/"})
    assert {found["host"] for found in document["webfetch"]["urls"]} == {"example.com", "10.0.0.1"}


@pytest.mark.parametrize("given", ["/v1/users.json", "users", "", True, 3])
def test_a_place_on_a_host_is_no_url(facts: Facts, given: object) -> None:
    document = facts("webfetch", {"url": "https://example.com/", "api_endpoint": given})
    assert (document["extracted"], len(document["webfetch"]["urls"])) == (True, 1)
    for elsewhere in ("//10.0.0.1/x", "\\\\10.0.0.1\\x", "10.0.0.1/x", "http:10.0.0.1"):
        document = facts("webfetch", {"url": "https://example.com/", "api_endpoint": elsewhere})
        assert len(document["webfetch"]["urls"]) > 1, elsewhere


def test_a_proxy_that_is_a_word_is_no_url(facts: Facts) -> None:
    document = facts("webfetch", {"url": "https://example.com/", "proxy": "stealth", "use_proxy": True})
    assert (document["extracted"], len(document["webfetch"]["urls"])) == (True, 1)
    assert facts("webfetch", {"url": "https://example.com/", "proxy": "10.0.0.1:3128"})["extracted"] is False


def test_a_schema_among_the_arguments_names_urls_and_holds_none(facts: Facts) -> None:
    wanted = {"type": "object", "properties": {"url": {"type": "string"}, "link": True, "more": {"url": {}}}}
    document = facts("webfetch", {"url": "https://example.com/", "schema": wanted})
    assert (document["extracted"], len(document["webfetch"]["urls"])) == (True, 1)
    wanted["properties"] = {"url": "https://10.0.0.1/"}
    document = facts("webfetch", {"url": "https://example.com/", "schema": wanted})
    assert [found["host"] for found in document["webfetch"]["urls"]] == ["example.com", "10.0.0.1"]
    bare = facts("webfetch", {"url": "https://example.com/", "schema": {"properties": {"url": {"type": "string"}}}})
    assert bare["extracted"] is False


@pytest.mark.parametrize("name", ["SQL", "Query", "sqlText", "count_query", "rawSql"])
def test_names_of_sql_are_read_by_their_words(facts: Facts, name: str) -> None:
    assert facts("sql", {name: "DELETE FROM t"})["sql"]["kinds"] == ["delete"]


@pytest.mark.parametrize("name", ["Command", "shell_command", "preCommand"])
def test_names_of_commands_are_read_by_their_words(facts: Facts, name: str) -> None:
    assert names_of(facts("bash", {name: "zap"})["bash"]) == "zap"


@pytest.mark.req("REL-7")
@pytest.mark.parametrize("given", ["../" * 700_000, "/.." * 700_000 + "x", "a/" * 1_000_000, "*" * 2_000_000])
@pytest.mark.parametrize("name", ["pattern", "output", "x" * 1_000_000 + "_path"])
def test_long_names_and_values_are_looked_at_in_no_time(facts: Facts, name: str, given: str) -> None:
    begun = time.thread_time()
    facts("file", {"path": "x", name: given}, roots=ROOTS)
    assert time.thread_time() - begun < 1
