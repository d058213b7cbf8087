"""The example agent in Java, built by Maven, before a live gateway (POLY-1)."""

from pathlib import Path

import pytest
from running_programs import Place
from toolchains import JAVA, Example, built
from tours import check_tour, refused_tour, stranger_tour, tour

pytestmark = [pytest.mark.req("POLY-1"), pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def java() -> Example:
    return built(JAVA)


def test_the_agent_makes_its_tour_and_a_person_approves(at: Place, java: Example, tmp_path: Path) -> None:
    told = tour(at, java, java.commands[0], tmp_path, INTERLOCK_ADDRESS=at.addresses[0])
    check_tour(at, told, "java")


def test_the_agent_shows_a_token_and_says_what_an_error_of_the_gateway_carries(
    at: Place, java: Example, tmp_path: Path
) -> None:
    with_token = java.commands[1].replace("127.0.0.1:7080", at.addresses[1])
    assert with_token != java.commands[1]
    told = refused_tour(at, java, with_token, tmp_path, TOKEN=at.token)
    assert told.code == 1
    assert "failed: RESOURCE_EXHAUSTED: " in told.errors
    assert "[OVERLOADED {}] [again in 1s]" in told.errors
    stranger = stranger_tour(at, java, java.commands[0], tmp_path)
    assert (stranger.code, "failed: UNAUTHENTICATED: " in stranger.errors) == (1, True)
    assert "[UNAUTHENTICATED" in stranger.errors
