"""Where each URL of a call leads, however it is spelled."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from facts_calls import Facts
from interlock_gateway.facts.urls.reading import MAX_URL_CHARS

pytestmark = pytest.mark.req("PIPE-5")

Entry: TypeAlias = dict[str, Any]
EntryOf: TypeAlias = Callable[[object], Entry]


@pytest.fixture
def entry(facts: Facts) -> EntryOf:
    def entry_of(given: object) -> Entry:
        document = facts("webfetch", {"url": given})
        [found] = document["webfetch"]["urls"]
        assert document["extracted"] is (found["error"] is None)
        return found  # type: ignore[no-any-return]  # the facts are JSON, checked against their schema

    return entry_of


def test_a_plain_url_is_taken_apart(entry: EntryOf) -> None:
    found = entry("https://Docs.Example.COM:8443/a/../b?q=1#top")
    assert found == {
        "argument": "/url",
        "given": "https://Docs.Example.COM:8443/a/../b?q=1#top",
        "scheme": "https",
        "host": "docs.example.com",
        "domains": ["docs.example.com", "example.com", "com"],
        "port": 8443,
        "default_port": False,
        "userinfo": False,
        "path": "/b",
        "query": True,
        "query_chars": 4,
        "fragment": True,
        "address": False,
        "reach": "public",
        "hazards": [],
        "error": None,
    }


HOSTS = [
    ("https://example.com./", "example.com"),
    ("https://b\u00fccher.example.org/", "xn--bcher-kva.example.org"),
    ("https://ex%61mple.com/", "example.com"),
    ("https://a\u3002b.com/", "a.b.com"),
    ("https:example.com", "example.com"),
    ("https:///example.com", "example.com"),
    ("https://good.com\\@evil.com/", "good.com"),
    ("https://example.com#@evil.com/", "example.com"),
    ("https://example.com?@evil.com/", "example.com"),
    ("https://good.com@evil.com/", "evil.com"),
    ("http://[2606:4700::1111]/", "2606:4700::1111"),
]


@pytest.mark.parametrize(("url", "host"), HOSTS)
def test_the_host_is_the_one_that_would_be_asked(entry: EntryOf, url: str, host: str) -> None:
    assert entry(url)["host"] == host


REACHES = [
    *(
        (host, "loopback")
        for host in (
            *("127.0.0.1", "127.1", "0177.0.0.1", "0x7f.0.0.1", "0x7f000001", "2130706433", "017700000001"),
            *("127.0.0.1.", "127.255.255.254", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"),
            *("[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "\u2460\u2461\u2466.\u24ea.\u24ea.\u2460"),
            *("localhost", "LOCALHOST", "localhost.", "a.localhost", "%6cocalhost"),
        )
    ),
    *((host, "unspecified") for host in ("0.0.0.0", "0", "0x0", "[::]", "0.1.2.3", "[::ffff:0.0.0.0]")),
    *(
        (host, "metadata")
        for host in (
            *("169.254.169.254", "0xa9fea9fe", "2852039166", "0251.0376.0251.0376", "[::ffff:a9fe:a9fe]"),
            *("[fd00:ec2::254]", "169.254.170.2", "168.63.129.16", "100.100.100.200", "metadata.google.internal"),
            *("metadata", "METADATA.GOOGLE.INTERNAL.", "instance-data.ec2.internal", "[64:ff9b::a9fe:a9fe]"),
            *("metadata.tencentyun.com", "api.metadata.cloud.ibm.com", "[2606:4700::5efe:a9fe:a9fe]"),
        )
    ),
    *(
        (host, "private")
        for host in ("10.0.0.1", "10.1", "172.16.5.4", "172.31.255.255", "192.168.1.1", "0xc0a80101", "[fc00::1]")
    ),
    *((host, "private") for host in ("[fd12:3456::1]", "[::ffff:10.0.0.1]", "[2002:a00:1::]", "[fec0::1]")),
    ("[2606:4700::200:5efe:10.0.0.1]", "private"),
    *((host, "link_local") for host in ("169.254.1.1", "[fe80::1]", "[::ffff:169.254.7.7]")),
    *((host, "shared") for host in ("100.64.0.1", "100.127.255.254")),
    *((host, "multicast") for host in ("224.0.0.1", "239.255.255.250", "[ff02::1]")),
    *((host, "reserved") for host in ("240.0.0.1", "255.255.255.255")),
    *((host, "private") for host in ("192.0.2.1", "198.18.0.1", "[2001:db8::1]")),
    *(
        (host, "local_name")
        for host in (
            *("intranet", "db", "printer.local", "jira.corp", "nas.lan", "router.home", "x.home.arpa", "a.b.internal"),
            *("x.onion", "kubernetes.default.svc", "xn--", "fritz.box", "nas.tail1234.ts.net", "wiki.intra"),
        )
    ),
    *(
        (host, "public")
        for host in (
            *("example.com", "8.8.8.8", "1.1", "[2606:4700::1111]", "172.32.0.1", "local.example.com", "a_b.com"),
            *("internal.com", "localhost.example.com", "192.169.1.1", "[::ffff:8.8.8.8]", "xn--p1ai.com"),
            *("[2606:4700::5efe:8.8.8.8]", "points.net", "firefox.box", "metadata.example.com"),
        )
    ),
]


@pytest.mark.parametrize(("host", "reach"), REACHES)
def test_it_is_known_which_network_a_host_is_in(entry: EntryOf, host: str, reach: str) -> None:
    found = entry(f"http://{host}/x")
    if host == "1.1":
        assert (found["host"], found["reach"]) == ("1.0.0.1", reach)
    assert (found["reach"], found["error"]) == (reach, None)
    assert found["domains"] == [] if found["address"] else found["host"] in found["domains"]


@pytest.mark.parametrize(
    ("url", "port", "default"),
    [
        ("http://a.com", 80, True),
        ("https://a.com:443", 443, True),
        ("https://a.com:80", 80, False),
        ("http://a.com:", 80, True),
        ("https://a.com:00443/", 443, True),
        ("ftp://a.com", 21, True),
        ("gopher://a.com", None, True),
        ("gopher://a.com:6379", 6379, False),
        ("https://a.com:0", 0, False),
    ],
)
def test_the_port_is_the_one_that_would_be_connected_to(
    entry: EntryOf, url: str, port: int | None, *, default: bool
) -> None:
    found = entry(url)
    assert (found["port"], found["default_port"]) == (port, default)


@pytest.mark.parametrize(
    "url",
    ["http://u@a.com", "http://u:p@a.com", "http://:p@a.com", "http://@a.com", "http://:@a.com", "http://u@v@a.com"],
)
def test_userinfo_is_seen_also_when_it_is_empty(entry: EntryOf, url: str) -> None:
    assert entry(url)["userinfo"] is True
    assert entry("http://a.com/@b:c")["userinfo"] is False


@pytest.mark.parametrize(
    ("url", "scheme"),
    [
        ("data:text/html,<script>", "data"),
        ("javascript:alert(1)", "javascript"),
        ("JavaScript:alert(1)", "javascript"),
        ("file:///etc/passwd", "file"),
        ("blob:https://a.com/x", "blob"),
        ("view-source:https://a.com", "view-source"),
        ("about:blank", "about"),
    ],
)
def test_a_scheme_without_a_host_is_named(entry: EntryOf, url: str, scheme: str) -> None:
    found = entry(url)
    assert (found["scheme"], found["host"], found["reach"], found["port"]) == (scheme, None, "none", None)


@pytest.mark.parametrize(
    ("url", "hazard"),
    [
        ("ht\ttps://a.com/", "stripped_characters"),
        ("https://a.c\nom/", "stripped_characters"),
        (" https://a.com/", "stripped_characters"),
        ("https://a.com/\x00", "stripped_characters"),
        ("https://good.com\\@evil.com/", "backslash"),
        ("https:\\\\a.com", "backslash"),
        ("https://good.com\\@evil.com/", "read_differently"),
        ("https:a.com", "read_differently"),
        ("https:///a.com", "read_differently"),
        ("https://ex%61mple.com", "read_differently"),
        ("https://a.com/ https://169.254.169.254/", "several_urls"),
        ("https://a.com,http://10.0.0.1/", "several_urls"),
        ("https://a\u00adb.com/", "invisible_characters"),
        ("https://a.com/\u202egpj", "invisible_characters"),
    ],
)
def test_what_readers_may_see_differently_is_said(entry: EntryOf, url: str, hazard: str) -> None:
    assert hazard in entry(url)["hazards"]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "HTTPS://EXAMPLE.com:443/a b",
        "http://127.1/",
        "https://b\u00fccher.example.org/caf\u00e9?q=\u00fc",
        "https://[2606:4700::1111]:8443/",
        "https://web.archive.org/web/2020/http://example.com/",
        "https://example.com./a?next=https://b.com",
        "https://u:p@example.com/",
        "mailto:a@b.com",
    ],
)
def test_plain_urls_have_no_hazards(entry: EntryOf, url: str) -> None:
    assert entry(url)["hazards"] == []


@pytest.mark.parametrize(
    "given",
    [
        *("", "example.com", "//example.com/x", "/etc/passwd", "../x", "http://", "http://a b.com", "http://[::1", "x"),
        *("http://a.com:99999", "http://1.2.3.4.5", "http://256.1.1.1", "http://[fe80::1%25eth0]/", "http://a..b.com"),
        *(
            "http://\ud800.com",
            "http://a\u202eb.com",
            "https://" + "a." * 40 + "com",
            "https://a.com/" + "x" * MAX_URL_CHARS,
        ),
        *(3, None, True, {"x": "https://a.com"}, ["https://a.com", 3], []),
    ],
)
def test_what_is_no_url_that_stands_alone_is_not_extracted(facts: Facts, given: object) -> None:
    document = facts("webfetch", {"url": given})
    assert document["extracted"] is False
    assert document["error"]


def test_every_url_is_looked_at(facts: Facts) -> None:
    document = facts("webfetch", {"urls": ["https://a.com", "http://10.0.0.1"], "proxy": "http://b.com"})
    assert [found["argument"] for found in document["webfetch"]["urls"]] == ["/urls/0", "/urls/1", "/proxy"]
    assert document["webfetch"]["hosts"] == ["10.0.0.1", "a.com", "b.com"]
    assert facts("webfetch", {"urls": ["https://a.com"] * 65})["extracted"] is False


def test_schema_and_operator_say_which_argument_is_a_url(facts: Facts) -> None:
    schema = {"properties": {"page": {"type": "string", "x-interlock-fact": "url"}}, "required": ["page"]}
    assert facts("webfetch", {"page": "https://a.com"}, schema=schema)["webfetch"]["hosts"] == ["a.com"]
    assert facts("webfetch", {}, schema=schema)["error"] == "a required URL is missing: /page"
    assert facts("webfetch", {"at": "https://a.com"}, names={"url": ("at",)})["webfetch"]["hosts"] == ["a.com"]
    assert facts("webfetch", {"x": "https://a.com"})["error"] == "no argument that holds a URL was found"


@pytest.mark.parametrize(
    ("more", "method", "sends"),
    [
        ({}, "GET", False),
        ({"method": "get"}, "GET", False),
        ({"method": None, "body": ""}, "GET", False),
        ({"method": "HEAD"}, "HEAD", False),
        ({"method": "POST"}, "POST", True),
        ({"http_method": " delete "}, "DELETE", True),
        ({"method": "GET", "verb": "PUT"}, "", True),
        ({"method": 3}, "", True),
        ({"method": "GE T"}, "", True),
        ({"body": "x"}, "GET", True),
        ({"json": {"a": 1}}, "GET", True),
        ({"Method": "POST"}, "POST", True),
        ({"HTTP-Method": "PUT"}, "PUT", True),
        ({"type": "POST"}, "POST", True),
        ({"type": "markdown", "action": "delete"}, "GET", False),
        ({"options": {"method": "POST"}}, "POST", True),
        ({"init": {"body": "x"}}, "GET", True),
        ({"request": [{"verb": "PATCH"}]}, "PATCH", True),
        ({"headers": {"X-HTTP-Method-Override": "DELETE"}}, "DELETE", True),
        ({"method": "GET", "headers": {"x_http_method": "POST"}}, "", True),
        ({"rawBody": "x"}, "GET", True),
        ({"json_data": {"a": 1}}, "GET", True),
        ({"json": True, "data": False}, "GET", False),
        ({"extract": {"schema": {"properties": {"method": {"type": "string"}, "data": {}}}}}, "GET", False),
    ],
)
def test_a_request_that_sends_something_says_so(
    facts: Facts, more: dict[str, object], method: str, *, sends: bool
) -> None:
    found = facts("webfetch", {"url": "https://a.com", **more})["webfetch"]
    assert (found["method"], found["sends"]) == (method, sends)


@pytest.mark.parametrize(
    "given",
    [
        {"request": {"url": "https://a.com", "method": "POST"}},
        {"requests": [{"url": "https://b.com"}, {"url": "https://a.com", "body": "x"}]},
        {"calls": [{"target": {"url": "https://a.com"}, "method": "POST"}]},
        {"a/b~c": {"url": "https://a.com", "data": "x"}},
        {"wanted": {"url": "https://a.com", "options": {"method": "POST"}}},
    ],
)
def test_a_request_sends_something_wherever_it_stands(facts: Facts, given: dict[str, object]) -> None:
    assert facts("webfetch", given)["webfetch"]["sends"] is True


@pytest.mark.req("REL-7")
def test_a_request_of_many_names_is_taken_for_one_that_sends_something(facts: Facts) -> None:
    urls = [{"url": "https://a.com", **{f"n{number}": 1 for number in range(50)}} for _ in range(60)]
    assert facts("webfetch", {"urls": urls[:10]})["webfetch"]["sends"] is False
    begun = time.thread_time()
    many = {f"n{number}": 1 for number in range(200_000)}
    found = facts("webfetch", {"requests": urls, **many})["webfetch"]
    assert (found["sends"], found["method"]) == (True, "")
    assert time.thread_time() - begun < 1
    assert facts("webfetch", {"requests": [dict(one) for one in urls * 2]})["webfetch"]["sends"] is True


def test_a_character_that_is_percent_encoded_is_one(facts: Facts) -> None:
    document = facts("webfetch", {"url": "https://example.com/?q=%D0%BA%20x"})
    assert document["webfetch"]["urls"][0]["query_chars"] == len("?q=.. x")


@pytest.mark.parametrize(
    "name", ["params", "query", "headers", "cookies", "queryString", "query-string", "User-Agent", "referer"]
)
def test_what_goes_out_beside_the_url_counts_as_its_query(facts: Facts, name: str) -> None:
    for more in ("x" * 300, {"q": "x" * 300}, [["q", "x" * 300]]):
        document = facts("webfetch", {"url": "https://example.com/?a=1", name: more})
        [found] = document["webfetch"]["urls"]
        assert found["query_chars"] > 300
    [bare] = facts("webfetch", {"url": "https://example.com/?a=1", name: None})["webfetch"]["urls"]
    assert bare["query_chars"] == len("?a=1")
