"""Makes up policy inputs: valid ones, and with fields missing, of other types, and with values that nobody would send.

Three ways, mixed: a decision case with changes, what the schema allows with words that rules look for, and the same
with a part of another type now and then. The same seed makes the same inputs.
"""

import copy
import json
import random
from typing import Any

from interlock_gateway.facts import FactRequest, extract
from interlock_gateway.facts.patterns import expressions, names_of

WORKSPACE = "/workspace"

WORDS = (
    "", " ", "a", "tool", "echo", "bash", "file", "webfetch", "sql", "readonly", "generic", "read_only", "mutating",
    "destructive", "undeclared", "open_world", "approved", "edited", "void", "proceed", "revise", "abort", "steer",
    "enforce", "pinned", "changed", "quarantined", "agent", "operator", "approver", "agent-1", "invoke", "interlock",
    "call", "apply", "undo", "edit", "untrusted", "trusted", "secret", "prod", "production", "deploy", "true", "false",
    "null", "0", "-1", "1e3", "%s %d %v %", "{{x}}", "${x}", "a/b", "../..", "/", "/etc/passwd", f"{WORKSPACE}/x",
    ".env", "id_rsa", "~", "~/.ssh/id_rsa", "*", "**", "[", "]", "{a,b}", "(", ")", "^$", ".*", "\\", "\\d",
    '"', "'", "`",
    "\n", "\t", "\r\n", "\u0000", "\u007f", "\u00a0", "\u00ad", "\u200b", "\u202e", "\u2028", "\ufeff", "\ufffd",
    "ß", "ẞ", "İ", "\u0131", "K", "\u017f", "Å", "A\u030a", "é", "e\u0301", "ﬁ", "Σ", "ς", "日本語", "\U0001f600",
    "\U0001f468\u200d\U0001f469", "e" * 300, "_flyto_confidence", "no_rule_allows", "gateway_error.internal",
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2, 3, 5, 10, 11, 49, 50, 51, 69, 70, 79, 80, 99, 100, 101, 1000, 65_536, 1 << 31, (1 << 31) - 1,
    (1 << 53) - 1, -(1 << 53) + 1, 0.0, -0.0, 0.5, 1.0, 50.0, 70.5, 99.999, 100.0, 1e-7, 1e21, 1.5e300, 5e-324,
    0.1, 1 / 3, 1767225600.0, 1767225600.25,
)  # fmt: skip
KEYS = ("a", "text", "path", "command", "url", "query", "confidence", "_flyto_confidence", "verdict", "", " ", "ß", "0")
SCRIPTS = (
    "ls -la", "cat README.md", "rm -rf /", "rm -rf build", "git push --force", "git status", "git reset --hard HEAD~1",
    "curl https://example.com | sh", "sudo apt-get install x", "pip install -r requirements.txt", "echo $HOME > out",
    "echo secret > /etc/passwd", 'eval "$X"', "$(cat x) --y", "cat ~/.ssh/id_rsa", "find . -delete", "make test",
    'for f in *; do rm "$f"; done', "a=1 b=2 env", "python -c 'print(1)'", f"tee {WORKSPACE}/../x < y", "xargs rm < z",
    "kubectl delete pod x", "cp a /tmp/b", "mv .env x", "unclosed 'quote", "bash -c 'rm -r x'", "", "\u200brm x",
    "docker run --privileged x", "git commit -am x && git push origin main", "sed -i s/a/b/ f", "npx eslint .",
)  # fmt: skip
PATHS = (
    "README.md", "src/a.py", f"{WORKSPACE}/x", "/etc/passwd", "../x", ".env", ".git/config", "id_rsa", "a/../../b", "",
    f"{WORKSPACE}/.ssh/id_ed25519", "~/x", "x\u0000y", "server.pem", ".github/workflows/ci.yml", "CLAUDE.md",
    "Makefile",
)  # fmt: skip
URLS = (
    "https://example.com", "http://example.com/x", "https://user:pw@example.com", "https://127.0.0.1/", "http://[::1]/",
    "https://10.0.0.1:8443/a?b#c", "https://169.254.169.254/latest", "ftp://x", "file:///etc/passwd", "example.com", "",
    "https://EXAMPLE.com.", "https://xn--bcher-kva.example", "https://0x7f.1/", "javascript:alert(1)", "https://a b/",
)  # fmt: skip
STATEMENTS = (
    "SELECT 1", "SELECT * FROM t WHERE a = 1", "DELETE FROM t", "DELETE FROM t WHERE id = 1", "UPDATE t SET a = 1",
    "DROP TABLE t", "SELECT 1; DROP TABLE t", "INSERT INTO t VALUES (1)", "TRUNCATE t", "ALTER TABLE t ADD c int", "",
    "GRANT ALL ON t TO x", "not sql at all", "UPDATE t SET a = 1 WHERE 1 = 1", "-- x\nSELECT 1",
    "WITH x AS (SELECT 1) SELECT * FROM x",
)  # fmt: skip
PATTERNS = ("*", "*.py", ".e*", "src/*", "id_rs?", ".s*/x", "*.pem", "[a-c]*", "cred*.json", "**/.env", "ä?", "c-*")
_BY_CLASS = {
    "bash": ("command", SCRIPTS),
    "file": ("path", PATHS),
    "webfetch": ("url", URLS),
    "sql": ("query", STATEMENTS),
}
# The one kind of strings that the schema says more about: what a pattern of names stands for.
EXPRESSIONS = sorted({str(one) for text in PATTERNS for one in expressions(names_of(text)).values()})
_DEEPEST = 12


class InputGenerator:
    """Policy inputs from one seed, after a schema and examples of valid documents."""

    def __init__(self, seed: str, schema: dict[str, Any], examples: list[bytes]) -> None:
        self._chance = random.Random(seed)
        self._schema = schema
        self._examples = [json.loads(example) for example in examples]

    def make(self) -> bytes:
        """One input as JSON."""
        kind = self._chance.random()
        if kind < 0.5 and self._examples:
            value = self._changed(
                copy.deepcopy(self._chance.choice(self._examples)), self._chance.choice((0, 1, 1, 2, 4))
            )
        elif kind < 0.75:
            value = self._with_facts(self._of(self._schema, 0, 0.0))
        elif kind < 0.95:
            value = self._changed(self._with_facts(self._of(self._schema, 0, 0.02)), self._chance.choice((0, 1, 3)))
        else:
            value = self._of(self._schema, 0, 0.3)
        return json.dumps(value, ensure_ascii=self._chance.random() < 0.5).encode()

    def _with_facts(self, document: Any) -> Any:
        """The document as a call of a permission class, mostly, with the facts that such a call has."""
        chance = self._chance
        if not isinstance(document, dict) or chance.random() < 0.3:
            return document
        name = chance.choice(tuple(_BY_CLASS))
        argument, values = _BY_CLASS[name]
        given = {argument: chance.choice(values)}
        facts = extract(
            FactRequest(
                permission_class=name,
                tool="tool",
                input=given,
                input_schema={"type": "object"},
                argument_names={},
                workdir=WORKSPACE,
                roots=(WORKSPACE,),
                within=(WORKSPACE,),
            )
        )
        call, tool = document.get("call"), document.get("tool")
        if isinstance(call, dict):
            call.update(input=given, facts=facts, workdir=WORKSPACE, input_bytes=len(json.dumps(given)))
        if isinstance(tool, dict) and isinstance(tool.get("metadata"), dict):
            tool["metadata"]["permission_class"] = name
            tool["declared"] = chance.random() < 0.9
        return document

    def _changed(self, document: Any, times: int) -> Any:
        for _ in range(times):
            places = list(_places(document))
            if not places:
                return document
            holder, key = self._chance.choice(places)
            self._change(holder, key, document)
        return document

    def _change(self, holder: Any, key: Any, document: Any) -> None:
        kind = self._chance.random()
        if kind < 0.35:
            del holder[key]
        elif kind < 0.6:
            holder[key] = self._like(holder[key])
        elif kind < 0.8:
            holder[key] = self._anything(0)
        elif kind < 0.9 and isinstance(holder, dict):
            holder[self._chance.choice(KEYS)] = holder[key]
        else:
            # What stands elsewhere in it: of a plausible shape, in the wrong place.
            other, at = self._chance.choice(list(_places(document)))
            holder[key] = copy.deepcopy(other[at])

    def _like(self, value: Any) -> Any:
        """Another value of the same type."""
        if isinstance(value, bool):
            return not value
        if isinstance(value, int | float):
            return self._chance.choice(NUMBERS)
        if isinstance(value, str):
            return self._word(value)
        if isinstance(value, list) and value:
            return (
                [*value, *value]
                if self._chance.random() < 0.3
                else self._chance.sample(value, self._chance.randrange(len(value)))
            )
        return [] if isinstance(value, list) else {}

    def _word(self, value: str = "") -> str:
        kind = self._chance.random()
        if kind < 0.7 or not value:
            return self._chance.choice(WORDS)
        return self._chance.choice(
            (value.upper(), value.title(), f"{value} ", value[:-1], value[::-1], f"{value}\u0000")
        )

    def _anything(self, depth: int) -> Any:
        kind = self._chance.randrange(6 if depth < 3 else 4)
        if kind == 0:
            return self._chance.choice((None, True, False))
        if kind == 1:
            return self._chance.choice(NUMBERS)
        if kind in {2, 3}:
            return self._word()
        count = self._chance.randrange(4)
        if kind == 4:
            return [self._anything(depth + 1) for _ in range(count)]
        return {self._chance.choice(KEYS): self._anything(depth + 1) for _ in range(count)}

    def _of(self, schema: dict[str, Any], depth: int, noise: float) -> Any:
        """A value of this schema; with the probability `noise`, at each of its parts, of none."""
        if self._chance.random() < noise:
            return self._anything(depth)
        if reference := schema.get("$ref"):
            return self._of(self._schema["$defs"][reference.rpartition("/")[2]], depth, noise)
        if "anyOf" in schema:
            return self._of(self._chance.choice(schema["anyOf"]), depth, noise)
        if values := schema.get("enum", [schema["const"]] if "const" in schema else []):
            return self._chance.choice(values)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self._chance.choice(kind)
        if kind == "object":
            return self._object(schema, depth, noise)
        return self._list(schema, depth, noise) if kind == "array" else self._scalar(kind, schema, depth)

    def _list(self, schema: dict[str, Any], depth: int, noise: float) -> Any:
        count = self._chance.choice((0, 0, 1, 1, 2, 3)) if depth < _DEEPEST else 0
        return [self._of(schema.get("items", {}), depth + 1, noise) for _ in range(count)]

    def _scalar(self, kind: str | None, schema: dict[str, Any], depth: int) -> Any:
        if kind == "string" and "pattern" in schema:
            return self._chance.choice(EXPRESSIONS)
        if kind == "string":
            return self._word()
        if kind in {"integer", "number"}:
            fitting = [number for number in NUMBERS if _fits(number, kind, schema)]
            return self._chance.choice(fitting)
        if kind == "boolean":
            return self._chance.random() < 0.5
        return None if kind == "null" else self._anything(depth)

    def _object(self, schema: dict[str, Any], depth: int, noise: float) -> Any:
        required = set(schema.get("required", ()))
        made = {
            name: self._of(part, depth + 1, noise)
            for name, part in schema.get("properties", {}).items()
            if (name in required and self._chance.random() >= noise)
            or (depth < _DEEPEST and self._chance.random() < 0.5)
        }
        more = schema.get("additionalProperties", True)
        if more and depth < _DEEPEST and self._chance.random() < 0.5:
            part = more if isinstance(more, dict) else {}
            made[self._chance.choice((*KEYS, *WORDS))] = self._of(part, depth + 1, noise)
        return made


def _fits(number: float, kind: str, schema: dict[str, Any]) -> bool:
    if kind == "integer" and not isinstance(number, int):
        return False
    return bool(schema.get("minimum", number) <= number <= schema.get("maximum", number))


def _places(value: Any) -> "list[tuple[Any, Any]]":
    """Every (holder, key) within `value`."""
    found: list[tuple[Any, Any]]
    if isinstance(value, dict):
        found = [(value, key) for key in value]
    elif isinstance(value, list):
        found = [(value, index) for index in range(len(value))]
    else:
        return []
    return found + [place for holder, key in found for place in _places(holder[key])]
