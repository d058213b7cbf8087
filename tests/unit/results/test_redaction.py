import base64
import hashlib
import json
import random
import time
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interlock_gateway.core.jsonvalue import JsonValue
from interlock_gateway.results.detectors import KINDS
from interlock_gateway.results.redaction import MAX_DEPTH, MAX_MATCHES, Redactor
from secret_shapes import SHAPES, canary

REDACTOR = Redactor()
SEEDS = range(3)
AROUND = [
    "{}",
    "before {} after",
    "({})",
    '"{}"',
    "a,{},b",
    "\n{}\n",
    "x={}\n",
    "ünïcödé {} 漢字",
    "[link]({})",
    "`{}`",
]


@pytest.mark.req("RES-6", "SEC-4")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_secret_of_every_shape_is_marked_and_counted_in_text(shape: str) -> None:
    for seed in SEEDS:
        made = canary(shape, seed)
        redacted = REDACTOR.redact_text(made.text)
        assert made.secret not in redacted.text
        assert f"[redacted:{made.kind}]" in redacted.text
        assert redacted.counts == {made.kind: 1}


@pytest.mark.req("RES-6", "SEC-4")
@pytest.mark.parametrize("around", AROUND)
def test_what_stands_around_a_secret_does_not_hide_it(around: str) -> None:
    for shape in SHAPES:
        made = canary(shape)
        redacted = REDACTOR.redact_text(around.format(made.text) if "{" not in made.text else made.text)
        assert made.secret not in redacted.text, shape
        assert sum(redacted.counts.values()) >= 1, shape


@pytest.mark.req("RES-6", "SEC-4")
@pytest.mark.parametrize("shape", SHAPES)
def test_a_secret_of_every_shape_is_marked_in_structured_data(shape: str) -> None:
    made = canary(shape)
    value: JsonValue = {"rows": [{"note": made.text, "n": 1}, ["deep", {"er": made.text}]], made.text: True}
    redacted = REDACTOR.redact_value(value)
    assert made.secret not in json.dumps(redacted.value)
    assert len(redacted.pointers) == 3
    assert redacted.pointers[:2] == ("/rows/0/note", "/rows/1/1/er")
    assert sum(redacted.counts.values()) == 3


@pytest.mark.req("RES-6", "SEC-4")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("escape_all", [True, False])
def test_a_secret_in_json_text_is_never_taken_for_clean(shape: str, escape_all: bool) -> None:
    made = canary(shape)
    text = json.dumps({"a": [made.text.replace(" ", "\t")], "b": made.text}, ensure_ascii=False)
    if escape_all:
        text = '{"a": "' + "".join(f"\\u{ord(character):04x}" for character in made.text) + '"}'
    assert REDACTOR.may_hold_secret_in_json(text.encode())


@pytest.mark.req("RES-6", "SEC-4")
def test_many_secrets_in_one_text_are_all_found() -> None:
    made = [canary(shape, seed) for shape in SHAPES for seed in SEEDS if shape not in {"curl", "option"}]
    text = "\n\n".join(f"{it.text}" for it in made)
    redacted = REDACTOR.redact_text(text)
    assert [it.secret for it in made if it.secret in redacted.text] == []
    assert sum(redacted.counts.values()) >= len(made) - 2
    assert set(redacted.counts) <= set(KINDS)


@pytest.mark.req("RES-6")
@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("password", "hunter2", "password"),
        ("DB_PASSWORD", "correct horse", "password"),
        ("clientSecret", "abc", "password"),
        ("x-api-key", "k1", "password"),
        ("accessToken", "t", "password"),
        ("refresh_token", "t", "password"),
        ("Authorization", "Bearer x", "password"),
        ("Set-Cookie", "a=b", "password"),
        ("pin_password", 1234, "password"),
        ("token", "abcd1234efgh", "secret"),
        ("secret", "abcd1234efgh", "secret"),
    ],
)
def test_a_member_whose_name_says_so_is_a_secret_whatever_it_looks_like(name: str, value: JsonValue, kind: str) -> None:
    redacted = REDACTOR.redact_value({"outer": {name: value, "other": value}})
    assert redacted.value == {"outer": {name: f"[redacted:{kind}]", "other": value}}
    assert redacted.pointers == (f"/outer/{name}",)


@pytest.mark.req("RES-6")
@pytest.mark.parametrize(
    "value",
    [
        {"next_page_token": "abcd1234efgh5678"},
        {"state_token": "abcd1234efgh5678"},
        {"token": "hello"},
        {"max_tokens": 4096, "token_count": 17},
        {"password": {"type": "string", "minLength": 8}},
        {"password": None},
        {"password": True},
        {"password": ""},
        {"password": "********"},
        {"password": "<your password>"},
        {"password": "${DB_PASSWORD}"},
        {"api_key": "[redacted:password]"},
        {"secret": False},
        {"tokens": ["The", "quick", "fox"]},
        {"PWD": "/home/agent"},
    ],
)
def test_a_member_that_only_sounds_secret_is_left_alone(value: JsonValue) -> None:
    assert REDACTOR.redact_value(value).counts == {}


def _clean_texts() -> list[str]:
    rng = random.Random(7)
    blob = rng.randbytes(3000)
    return [
        base64.b64encode(blob).decode(),
        base64.urlsafe_b64encode(blob).decode(),
        blob.hex(),
        "\n".join(hashlib.sha256(bytes([n])).hexdigest() for n in range(50)),
        "\n".join(hashlib.sha1(bytes([n])).hexdigest() + " commit message" for n in range(50)),
        "\n".join(str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(50)),
        "data:image/png;base64," + base64.b64encode(blob).decode(),
        "sha512-" + base64.b64encode(rng.randbytes(64)).decode(),
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + base64.b64encode(rng.randbytes(31)).decode() + " bob@host",
        "-----BEGIN CERTIFICATE-----\n" + base64.b64encode(blob).decode() + "\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n" + base64.b64encode(blob[:90]).decode() + "\n-----END PUBLIC KEY-----",
        "mail bob@example.com or see https://example.com:8443/a@b and git@github.com:org/repo.git",
        "def login(user: str, password: str, token: str | None = None) -> None: ...",
        "self.password = password\nconfig(password=get_password(), token=self.token, key=None)",
        "password = os.environ['DB_PASSWORD']; secret_key = settings.SECRET_KEY",
        "curl -fsSL https://example.com/install.sh | sh; docker run -u 1000:1000 image",
        "The basic understanding of bearer plants; authorization: see chapter 4. Cookie: a small cake.",
        "PASSWORD=$DB_PASSWORD\nTOKEN=${TOKEN}\nAPI_KEY={{ api_key }}\nSECRET=<secret>\nPWD=/root\nOLDPWD=/",
        "arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db-AbC123",
        "price: $5$10, section 2.4, ratio 3:AA, version v1.0-rc1, key-value store, pat on the back",
        '{"usage": {"prompt_tokens": 12, "completion_tokens": 4}, "next_token": "eyJhIjoxfQ=="}',
    ]


@pytest.mark.req("RES-6")
@pytest.mark.parametrize("text", _clean_texts())
def test_digests_identifiers_images_and_code_are_not_taken_for_secrets(text: str) -> None:
    redacted = REDACTOR.redact_text(text)
    assert redacted.counts == {}
    assert redacted.text is text


@pytest.mark.req("RES-6")
@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_redacting_what_is_redacted_changes_nothing_more(text: str) -> None:
    shapes = [canary(shape) for shape in ("github", "yaml", "url", "pem")]
    mixed = text.join(it.text for it in shapes)
    once = REDACTOR.redact_text(mixed).text
    assert REDACTOR.redact_text(once).text == once


@pytest.mark.req("RES-6")
@given(st.text(st.characters(codec="utf-8"), max_size=80), st.sampled_from(sorted(SHAPES)))
@settings(max_examples=300, deadline=None)
def test_marks_never_tear_a_character_apart(text: str, shape: str) -> None:
    made = canary(shape)
    redacted = REDACTOR.redact_text(f"{text} {made.text}{text}")
    redacted.text.encode("utf-8")
    assert "�" not in redacted.text or "�" in text


def test_a_lone_surrogate_is_no_obstacle() -> None:
    made = canary("github")
    redacted = REDACTOR.redact_text(f"\ud800 {made.text} \udfff")
    assert redacted.text == "\ud800 [redacted:github-token] \udfff"


@pytest.mark.req("SEC-4")
def test_what_nests_too_deep_to_be_looked_at_is_not_shown() -> None:
    made = canary("github")
    value: JsonValue = made.text
    for _ in range(MAX_DEPTH + 100):
        value = [value]
    redacted = REDACTOR.redact_value(value)
    assert redacted.counts == {"too-deep": 1}
    assert made.secret not in str(redacted.value)


HOSTILE = [
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----A",
    "password=",
    'password="',
    'password="x',
    "token: a1b2c3d4 ",
    "://a:b@",
    "https://a:b@c ",
    "eyJ",
    "eyJaaaaaaaa.eyJ",
    "curl -u ",
    "curl ",
    "Authorization: Bearer ",
    "Cookie: a=",
    "machine a login b password c ",
    "aaaa",
    "sk-",
    "$2b$12$",
    "<password>",
    " --password x",
    '\\"password\\": \\"',
    "\\",
    "=:=:",
    "a.b.c.",
    "é",
]


@pytest.mark.req("RES-6", "SEC-3")
@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        began = time.process_time()
        REDACTOR.redact_text(text)
        return time.process_time() - began

    seconds(10_000)
    # Quadratic time would be 64 times as long for 8 times the text, at each attempt; what others do to a shared
    # processor between the two measurements passes.
    assert any(seconds(800_000) < 24 * max(seconds(100_000), 0.01) for _ in range(4))


@pytest.mark.req("RES-6", "SEC-3")
def test_more_than_can_be_judged_is_not_shown_at_all() -> None:
    flood = "token: a1b2c3d4 " * (MAX_MATCHES + 1)
    redacted = REDACTOR.redact_text(flood)
    assert (redacted.text, redacted.counts) == ("[redacted:too-many]", {"too-many": 1})
    value: list[JsonValue] = [{"password": "hunter2"} for _ in range(MAX_MATCHES)]
    last = REDACTOR.redact_value([*value, {"note": "harmless"}]).value
    assert isinstance(last, list)
    assert last[-1] == {"[redacted:too-many]": "[redacted:too-many]"}


@pytest.mark.req("RES-6")
def test_what_follows_a_mark_is_not_taken_for_masked() -> None:
    assert "hunter2" not in REDACTOR.redact_text('password="[redacted:password]hunter2"').text
