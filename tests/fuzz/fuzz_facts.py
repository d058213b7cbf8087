"""Throws damaged input at every extractor of facts, for as long as it is told to: `make fuzz ARGS="--runs 200000"`.

Each answer has to match its schema and to be JSON. What raises, answers otherwise or takes longer than the guard is
printed with the seed that makes it again, and the exit code is 1.
"""

import argparse
import json
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jsonschema_rs
from interlock_gateway.facts import FACTS_SCHEMA, FactRequest, extract

GUARD_S = 20
ROOT = "/workspace"
UNIT = Path(__file__).parents[1] / "unit"
VALIDATOR = jsonschema_rs.Draft202012Validator(FACTS_SCHEMA)
PIECES = [
    *"'\"`\\$#;&|<>(){}[]*?~!@%^=+-/:., \t\n\r\0",
    *(
        "$(",
        "${",
        "))",
        "<<E\n",
        "--",
        "/*",
        "*/",
        "/*!",
        "$$",
        "E'",
        "://",
        "\\\\",
        "\u202e",
        "\u00e9",
        "\ud800",
        "%00",
    ),
    *("SELECT ", "DELETE FROM ", "WITH a AS (", "ARRAY[", "169.254.169.254", "localhost", "eval ", "sh -c '", "../"),
]
SQL = [
    "SELECT a, count(*) FROM t JOIN u ON t.id = u.id WHERE a = 'x' GROUP BY a HAVING count(*) > 1 ORDER BY 1 LIMIT 5",
    "WITH d AS (DELETE FROM t WHERE id = 1 RETURNING *) INSERT INTO log SELECT * FROM d ON CONFLICT (id) DO NOTHING",
    "UPDATE t SET a = CASE WHEN b > 1 THEN 'y' ELSE \"z\" END, c = array[1, 2] WHERE id IN (SELECT id FROM u)",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = 1 WHEN NOT MATCHED THEN INSERT VALUES (1)",
    "EXPLAIN (ANALYZE, BUFFERS) SELECT * FROM generate_series(1, 10) /*! STRAIGHT_JOIN */ -- x",
    "CREATE TABLE t (id serial PRIMARY KEY, a text NOT NULL DEFAULT 'x'); DROP TABLE IF EXISTS u CASCADE",
    "COPY (SELECT 1) TO PROGRAM 'cat'; DO $$ BEGIN PERFORM 1; END $$; CALL p(1); EXEC sp_who @x = 1",
]
URLS = [
    "https://user:pw@docs.example.com:8443/a/../b?q=1#top",
    "http://[::ffff:169.254.169.254]/x",
    "http://0x7f.1\\@evil.example/\u00fc?%00",
    "data:text/html;base64,PHNjcmlwdD4=",
]


class TooSlowError(Exception):
    """An extractor took longer than the guard."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzing; the exit code."""
    options = _options(arguments)
    seeds = {"bash": _scripts(), "file": ["../a/./b", "~/x", "/etc/passwd", "a/*.txt"], "webfetch": URLS, "sql": SQL}
    arguments_of = {"bash": "command", "file": "path", "webfetch": "url", "sql": "sql"}
    signal.signal(signal.SIGALRM, _ring)
    slowest: dict[str, tuple[float, str]] = {}
    failures = 0
    began = time.monotonic()
    for run in range(options.runs):
        chooser = random.Random(f"{options.seed}/{run}")
        permission_class = chooser.choice(options.classes)
        text = _damaged(chooser, seeds[permission_class])
        started = time.perf_counter()
        problem = _problem(permission_class, {arguments_of[permission_class]: text}, chooser)
        taken = time.perf_counter() - started
        if taken > slowest.get(permission_class, (0.0, ""))[0]:
            slowest[permission_class] = (taken, text)
        if problem:
            failures += 1
            _say(f"run {run} of seed {options.seed}, {permission_class}: {problem}\n  {ascii(text)[:2000]}")
    took = time.monotonic() - began
    _say(f"{options.runs} inputs in {took:.0f} s, {failures} failures, seed {options.seed}")
    for permission_class, (taken, text) in sorted(slowest.items()):
        _say(f"  {permission_class}: slowest {taken * 1000:.0f} ms, {len(text)} characters: {ascii(text)[:100]}")
    return 1 if failures else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Throw damaged input at every extractor of facts.")
    parser.add_argument("--runs", type=int, default=20_000, help="how many inputs (20000)")
    parser.add_argument("--seed", default=str(time.time_ns()), help="makes the same inputs again")
    every = ["bash", "file", "sql", "webfetch"]
    parser.add_argument("--classes", nargs="+", default=every, choices=every, help="only these extractors")
    return parser.parse_args(arguments)


def _scripts() -> list[str]:
    lines = (UNIT / "policy" / "hidden_commands.txt").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if not line.startswith("#")]


def _damaged(chooser: random.Random, seeds: Sequence[str]) -> str:
    text = chooser.choice(seeds)
    change: Callable[[str], str]
    for _ in range(chooser.randint(0, 6)):
        at, length = chooser.randrange(len(text) + 1), chooser.choice((1, 2, 8, 64))
        change = chooser.choice(
            (
                lambda text, at=at: text[:at] + chooser.choice(PIECES) + text[at:],
                lambda text, at=at, length=length: text[:at] + text[at + length :],
                lambda text, at=at, length=length: (
                    text[:at] + text[at : at + length] * chooser.randint(2, 12) + text[at:]
                ),
                lambda text, at=at: text[:at] + chooser.choice(seeds) + text[at:],
                lambda text, at=at: text[:at] + chooser.choice(PIECES) * chooser.randint(2, 400) + text[at:],
            )
        )
        text = change(text)
    return text


def _problem(permission_class: str, given: dict[str, object], chooser: random.Random) -> str | None:
    """What is wrong with the facts about an input, or None."""
    schema = {"x-interlock-dialect": chooser.choice(("", "postgres", "mysql", "sqlite", "tsql"))}
    request = FactRequest(permission_class, "fuzzed", given, schema, {}, ROOT, (ROOT,), (ROOT,))
    signal.alarm(GUARD_S)
    try:
        document = extract(request)
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8")
        VALIDATOR.validate(document)
    except Exception as error:  # noqa: BLE001 - whatever it raises is a finding
        return f"{type(error).__name__}: {error}"[:500]
    finally:
        signal.alarm(0)
    return None


def _ring(_number: int, _frame: object) -> None:
    raise TooSlowError(f"took more than {GUARD_S} s")


if __name__ == "__main__":
    sys.exit(main())
