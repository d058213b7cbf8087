"""What the tests of the facts share."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from facts_calls import Bash, Facts, RealBash, Sql
from interlock_gateway.facts import FACTS_SCHEMA, FactRequest, extract

VALIDATOR = jsonschema_rs.Draft202012Validator(FACTS_SCHEMA)


@pytest.fixture(scope="session")
def facts() -> Facts:
    def facts_of(
        permission_class: str,
        given: Mapping[str, object],
        *,
        schema: Mapping[str, object] | None = None,
        names: Mapping[str, tuple[str, ...]] | None = None,
        workdir: str = "",
        roots: tuple[str, ...] = (),
        within: tuple[str, ...] | None = None,
    ) -> dict[str, Any]:
        bounds = roots if within is None else within
        request = FactRequest(permission_class, "tool", given, schema or {}, names or {}, workdir, roots, bounds)
        document = extract(request)
        VALIDATOR.validate(document)
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode("utf-8")
        return document

    return facts_of


@pytest.fixture(scope="session")
def bash(facts: Facts) -> Bash:
    def facts_of(script: str, *, workdir: str = "", roots: tuple[str, ...] = ()) -> dict[str, Any]:
        found: dict[str, Any] = facts("bash", {"command": script}, workdir=workdir, roots=roots)["bash"]
        return found

    return facts_of


@pytest.fixture(scope="session")
def sql(facts: Facts) -> Sql:
    def facts_of(text: str, dialect: str = "") -> dict[str, Any]:
        schema: Mapping[str, object] = {"x-interlock-dialect": dialect} if dialect else {}
        document = facts("sql", {"sql": text}, schema=schema)
        assert document["extracted"] is True
        found: dict[str, Any] = document["sql"]
        return found

    return facts_of


@pytest.fixture
def real_bash(program: Callable[[str], Path], tmp_path: Path) -> RealBash:
    return RealBash(program("bash"), tmp_path)
