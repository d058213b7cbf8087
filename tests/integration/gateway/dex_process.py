"""A real Dex, which issues tokens to people with passwords, and makes new keys whenever it is started anew."""

import asyncio
import socket
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import yaml
from waiting import eventually_so

PASSWORD = "password"
HASH = "$2a$10$2b2cU8CPhOTaGrs1HRQuAueS7JTT5ZHsHSzYiFPm1leZck7Mc8T4W"
"""Of that password, as bcrypt makes it."""
AGENT, OPERATOR, STRANGER = "agent@example.org", "operator@example.org", "stranger@example.org"
CLIENT, OTHER_CLIENT = "interlock", "another"


@dataclass
class Dex:
    """One issuer on one port, started and stopped."""

    program: Path
    directory: Path
    port: int
    process: Process | None = None

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.port}/dex"

    async def start(self) -> None:
        """Start it, with keys that nobody has seen."""
        file = self.directory / "dex.yaml"
        file.write_text(yaml.safe_dump(self._settings()))
        log = (self.directory / "dex.log").open("ab")
        command = (str(self.program), "serve", str(file))
        self.process = await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log, stdin=DEVNULL)
        log.close()
        async with httpx2.AsyncClient(trust_env=False) as client:

            async def ready() -> bool:
                assert self.process is not None
                assert self.process.returncode is None, (self.directory / "dex.log").read_text()
                try:
                    return (await client.get(f"{self.issuer}/.well-known/openid-configuration")).status_code == 200
                except httpx2.TransportError:
                    return False

            await eventually_so(ready)

    async def stop(self) -> None:
        """End it, with its keys."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    async def token(self, who: str, client_id: str = CLIENT) -> str:
        """An ID token of `who` for `client_id`."""
        form = {"grant_type": "password", "scope": "openid email", "username": who, "password": PASSWORD}
        async with httpx2.AsyncClient(trust_env=False) as client:
            answer = await client.post(f"{self.issuer}/token", data=form, auth=(client_id, "secret"))
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id_token"])

    def _settings(self) -> dict[str, Any]:
        people = enumerate((AGENT, OPERATOR, STRANGER))
        return {
            "issuer": self.issuer,
            "storage": {"type": "memory"},
            "web": {"http": f"127.0.0.1:{self.port}"},
            "oauth2": {"grantTypes": ["password"], "passwordConnector": "local", "skipApprovalScreen": True},
            "enablePasswordDB": True,
            "staticClients": [
                {"id": one, "name": one, "secret": "secret", "redirectURIs": ["http://127.0.0.1/"]}
                for one in (CLIENT, OTHER_CLIENT)
            ],
            "staticPasswords": [
                {"email": email, "hash": HASH, "username": email, "userID": f"user-{number}"}
                for number, email in people
            ],
        }


@asynccontextmanager
async def dex(program: Path, directory: Path) -> AsyncIterator[Dex]:
    """A Dex that issues tokens inside the block."""
    with socket.socket() as probe:
        # Dex takes no port 0 and says its port nowhere; it has to be in its name besides.
        probe.bind(("127.0.0.1", 0))
        made = Dex(program, directory, probe.getsockname()[1])
    await made.start()
    try:
        yield made
    finally:
        await made.stop()
