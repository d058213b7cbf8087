"""Facts of the permission class `sql`: every statement of a call, and what it does."""

from collections.abc import Iterable, Mapping, Sequence

from interlock_gateway.core.jsonvalue import JsonObject, JsonValue
from interlock_gateway.facts.arguments import Argument, find
from interlock_gateway.facts.registry import Extractor, Section
from interlock_gateway.facts.request import FactRequest
from interlock_gateway.facts.sql.lexing import MAX_CHARS
from interlock_gateway.facts.sql.reading import Reading, read_sql
from interlock_gateway.facts.sql.schema import SQL_SCHEMA
from interlock_gateway.facts.sql.statements import Statement
from interlock_gateway.facts.sql.structure import Table

DIALECT = "x-interlock-dialect"
MAX_TEXTS = 16
MAX_TABLES = 64
MAX_NAME = 128
MAX_ERRORS = 8
MAX_FUNCTIONS = 256


def _extract(request: FactRequest) -> Section:
    arguments = find(request, "sql")
    if arguments.missing or not arguments.given or arguments.truncated:
        wanted = ", ".join(arguments.missing) or "/sql"
        return Section(None, f"no argument that holds SQL was found (looked for {wanted})")
    named = [pair for argument in arguments.given for pair in _flattened(argument)]
    texts = [(pointer, value) for pointer, value in named if isinstance(value, str)]
    if len(texts) < len(named) or not texts:
        return Section(None, f"{arguments.given[0].pointer} is neither a string nor a list of strings")
    if len(texts) > MAX_TEXTS or sum(len(text) for _, text in texts) > MAX_CHARS:
        return Section(None, f"more than {MAX_TEXTS} texts, or longer than {MAX_CHARS} characters")
    dialect = _dialect(request)
    readings = [(pointer, read_sql(text, dialect)) for pointer, text in texts]
    return Section(_document(readings, dialect))


def _flattened(argument: Argument) -> list[tuple[str, object]]:
    value = argument.value
    if isinstance(value, list | tuple):
        return [(f"{argument.pointer}/{index}", item) for index, item in enumerate(value)]
    return [(argument.pointer, value)]


def _dialect(request: FactRequest) -> str:
    """The dialect that the operator or the tool's schema declares, or an empty string. No call chooses its own."""
    configured = request.argument_names.get("dialect")
    if configured:
        return configured[0]
    properties = request.input_schema.get("properties")
    schemas = [request.input_schema, *(properties.values() if isinstance(properties, Mapping) else ())]
    declared = {
        value for schema in schemas if isinstance(schema, Mapping) and isinstance(value := schema.get(DIALECT), str)
    }
    return declared.pop() if len(declared) == 1 else ""


def _document(readings: Sequence[tuple[str, Reading]], dialect: str) -> JsonObject:
    found = [(pointer, statement, names) for pointer, reading in readings for statement, names in reading.statements]
    errors = list(dict.fromkeys(problem for _, reading in readings for problem in reading.problems))
    functions = {name for _, statement, _ in found for name in statement.functions}
    calls = {name for _, statement, _ in found for name in statement.calls}
    if len(functions) > MAX_FUNCTIONS or len(calls) > MAX_FUNCTIONS:
        errors.append(f"more than {MAX_FUNCTIONS} functions")
    if any(len(statement.reads) + len(statement.writes) > MAX_TABLES for _, statement, _ in found):
        errors.append(f"more than {MAX_TABLES} tables")
    statements: list[JsonValue] = [_entry(pointer, statement, names) for pointer, statement, names in found]
    return {
        "parse_error": bool(errors),
        "errors": [error[:MAX_NAME] for error in errors[:MAX_ERRORS]],
        "read_only": bool(found) and not errors and all(_only_reads(statement) for _, statement, _ in found),
        "dynamic": any(statement.effect == "code" for _, statement, _ in found),
        "several": len(readings) > 1 or any(reading.several for _, reading in readings),
        "dialect": dialect[:MAX_NAME] or None,
        "kinds": [*sorted({statement.kind[:MAX_NAME] for _, statement, _ in found})],
        "effects": [*sorted({statement.effect for _, statement, _ in found})],
        "functions": _names(functions),
        "calls": _names(calls),
        "statements": statements,
    }


def _only_reads(statement: Statement) -> bool:
    quiet = not (statement.files or statement.programs)
    return statement.effect == "read" and statement.problem is None and quiet


def _entry(pointer: str, statement: Statement, dialects: Sequence[str]) -> JsonObject:
    return {
        "argument": pointer,
        "kind": statement.kind[:MAX_NAME],
        "object": statement.object[:MAX_NAME],
        "effect": statement.effect,
        "text": statement.text,
        "dialects": [*dialects],
        "verbs": [*statement.verbs],
        "reads": _tables(statement.reads),
        "writes": _tables(statement.writes),
        "condition": statement.condition,
        "functions": _names(statement.functions),
        "files": statement.files,
        "programs": statement.programs,
        "problem": statement.problem,
    }


def _tables(tables: Sequence[Table]) -> list[JsonValue]:
    return [
        {"name": table.name[:MAX_NAME], "qualified": table.qualified[: 4 * MAX_NAME]} for table in tables[:MAX_TABLES]
    ]


def _names(names: Iterable[str]) -> list[JsonValue]:
    listed: list[JsonValue] = [*sorted({name[:MAX_NAME] for name in names})]
    return listed[:MAX_FUNCTIONS]


EXTRACTOR = Extractor("sql", SQL_SCHEMA, _extract)
