"""An agent's side in three lines. It needs a gateway that serves, such as the README's."""

from interlock import SyncGateway

with SyncGateway() as gateway:
    result = gateway.session().call("read", {"path": "README.md"})
    print(result.for_model)
