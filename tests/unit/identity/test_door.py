"""Who is let in over the network: one credential, never two, and nobody by an oversight."""

import asyncio
import logging
import time
from hashlib import sha256

import pytest
from interlock_gateway.config_identity import CertificateConfig, TokenConfig
from interlock_gateway.core.session import Principal, Role
from interlock_gateway.errors import RequestFault
from interlock_gateway.identity.authenticate import Metadata, TokenBook, new_token
from interlock_gateway.identity.certificates import CertificateHolders
from interlock_gateway.identity.door import Bearers, NetworkDoor
from interlock_gateway.identity.peer import Certificate, Peer
from interlock_gateway.identity.refusals import LOGGED_AT_ONCE, Refusal, RefusalLog, RefusedError, Seldom

TOKEN, DIGEST = new_token()
HERE, THERE = Peer(local=True, address="127.0.0.1"), Peer(local=False, address="10.0.0.9")
AGENT = "spiffe://example.org/agent"


class RealClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class OneBearer:
    """Stands in for issuers: one principal for every token."""

    def __init__(self, *roles: Role, later: bool = False) -> None:
        self.found = Principal("own:alice", "jwt", frozenset(roles))
        self.later = later

    def principal(self, token: str) -> Principal | asyncio.Task[Principal]:
        assert token == "a.b.c"
        return asyncio.create_task(self._soon()) if self.later else self.found

    async def _soon(self) -> Principal:
        return self.found


def certificate(*uris: str, ends_in_s: float = 60.0) -> Certificate:
    return Certificate(uris, "CN=x", time.time() - 60, time.time() + ends_in_s, "00")


def showing(*uris: str, ends_in_s: float = 60.0) -> Peer:
    return Peer(local=False, encrypted=True, certificate=certificate(*uris, ends_in_s=ends_in_s), address="10.0.0.9")


def door(
    bearers: Bearers | None = None, *, anonymous: bool = False, approvers: frozenset[str] = frozenset()
) -> tuple[NetworkDoor, list[Refusal]]:
    counted: list[Refusal] = []
    made = NetworkDoor(
        TokenBook((TokenConfig(principal="ci", sha256=DIGEST),)),
        RealClock(),
        RefusalLog(RealClock(), counted.append),
        holders=CertificateHolders((CertificateConfig(spiffe=AGENT, roles=(Role.AGENT,)),)),
        bearers=bearers,
        anonymous=anonymous,
        approvers=approvers,
    )
    return made, counted


def bearer(token: str) -> Metadata:
    return [("authorization", f"Bearer {token}")]


def found(made: NetworkDoor, metadata: Metadata, peer: Peer) -> Principal:
    principal = made.principal(metadata, peer)
    assert isinstance(principal, Principal)
    return principal


def refused(made: NetworkDoor, metadata: Metadata, peer: Peer) -> RefusedError:
    with pytest.raises(RefusedError) as caught:
        made.principal(metadata, peer)
    return caught.value


@pytest.mark.req("AUTH-1")
def test_each_kind_of_credential_lets_its_caller_in() -> None:
    made, counted = door(OneBearer(Role.AGENT))
    assert found(made, bearer(TOKEN), THERE).id == "ci"
    assert found(made, bearer("a.b.c"), THERE).id == "own:alice"
    assert found(made, (), showing(AGENT)).id == AGENT
    assert counted == []


@pytest.mark.req("AUTH-1")
def test_anonymous_agents_come_from_this_machine_alone_and_bring_nothing() -> None:
    made, _ = door(anonymous=True)
    assert found(made, (), HERE).id == "anonymous"
    assert refused(made, (), THERE).reason is Refusal.NO_CREDENTIALS
    assert refused(made, bearer("ilk_wrong"), HERE).reason is Refusal.MALFORMED
    assert refused(made, bearer(new_token()[0]), HERE).reason is Refusal.UNKNOWN_TOKEN
    stranger = Peer(local=True, encrypted=True, certificate=certificate("spiffe://example.org/other"))
    assert refused(made, (), stranger).reason is Refusal.CERTIFICATE_UNKNOWN
    assert refused(door()[0], (), HERE).reason is Refusal.NO_CREDENTIALS


@pytest.mark.req("AUTH-1")
@pytest.mark.parametrize(
    "metadata",
    [
        [("authorization", "Bearer a"), ("authorization", "Bearer a")],
        [("authorization", b"Bearer a")],
        [("authorization", "")],
        [("authorization", "Bearer")],
        [("authorization", "Bearer ")],
        [("authorization", f"Bearer  {TOKEN}")],
        [("authorization", f"Basic {TOKEN}")],
        [("authorization", TOKEN)],
        [("authorization", f"Bearer {TOKEN} ")],
        [("authorization", f"Bearer {TOKEN}\n")],
        [("authorization", f"Bearer {TOKEN[:-1]}")],
    ],
)
def test_a_header_that_is_not_one_token_lets_nobody_in(metadata: Metadata) -> None:
    assert refused(door(anonymous=True)[0], metadata, HERE).reason is Refusal.MALFORMED


@pytest.mark.req("AUTH-1", "AUTH-2")
def test_who_brings_a_certificate_and_a_token_is_asked_which_it_is() -> None:
    made, _ = door(OneBearer(Role.OPERATOR))
    for token in (TOKEN, "a.b.c", "ilk_wrong"):
        assert refused(made, bearer(token), showing(AGENT)).reason is Refusal.TWO_CREDENTIALS
    # A certificate that stands for nobody is no credential: where every client has one, tokens say who it is.
    assert found(made, bearer(TOKEN), showing("spiffe://example.org/mesh")).id == "ci"


@pytest.mark.req("AUTH-1")
def test_a_certificate_that_does_not_hold_lets_nobody_in_not_even_with_a_token() -> None:
    made, _ = door()
    for metadata in ((), bearer(TOKEN)):
        assert refused(made, metadata, showing(AGENT, ends_in_s=-1)).reason is Refusal.CERTIFICATE_EXPIRED
        assert refused(made, metadata, showing(AGENT, AGENT)).reason is Refusal.CERTIFICATE_INVALID


@pytest.mark.req("AUTH-2", "CHK-6")
@pytest.mark.parametrize("later", [False, True])
async def test_an_agent_who_decides_about_calls_is_not_let_in(later: bool) -> None:
    for roles in ((Role.AGENT, Role.OPERATOR), (Role.AGENT, Role.APPROVER)):
        made, counted = door(OneBearer(*roles, later=later))
        with pytest.raises(RefusedError):
            await _awaited(made)
        assert counted == [Refusal.ROLES_CONTRADICT]
    # Nor who answers on a webhook, and is an agent by a token.
    made, counted = door(OneBearer(Role.AGENT, later=later), approvers=frozenset({"own:alice"}))
    with pytest.raises(RefusedError):
        await _awaited(made)
    made, counted = door(OneBearer(Role.APPROVER, later=later), approvers=frozenset({"own:alice"}))
    assert (await _awaited(made)).id == "own:alice"


async def _awaited(made: NetworkDoor) -> Principal:
    principal = made.principal(bearer("a.b.c"), THERE)
    return principal if isinstance(principal, Principal) else await principal


@pytest.mark.req("AUTH-1")
def test_a_refusal_is_logged_with_its_reason_and_without_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="interlock_gateway")
    made, counted = door()
    unknown = new_token()[0]
    error = refused(made, bearer(unknown), THERE)
    assert (error.fault, error.message) == (RequestFault.UNAUTHENTICATED, "the token is not known")
    (record,) = caplog.records
    assert vars(record)["reason"] == "unknown_token"
    assert vars(record)["from"] == "10.0.0.9"
    assert unknown not in str(vars(record))
    assert sha256(unknown.encode()).hexdigest() not in str(vars(record))
    for _ in range(50):
        refused(made, bearer(unknown), THERE)
    assert len(caplog.records) == LOGGED_AT_ONCE
    assert len(counted) == 51


def test_what_is_logged_seldom_is_logged_again_later() -> None:
    seldom = Seldom()
    assert [seldom.allows("a", 0.0) for _ in range(LOGGED_AT_ONCE + 1)].count(True) == LOGGED_AT_ONCE
    assert seldom.allows("b", 0.0)
    assert seldom.allows("a", 10.0)


def test_keys_that_cannot_be_had_are_a_reason_to_come_again() -> None:
    error = RefusedError(Refusal.KEYS_UNAVAILABLE, "later")
    assert error.fault is RequestFault.IDENTITY_UNAVAILABLE
