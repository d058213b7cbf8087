from typing import Any

from interlock.v1 import provider_hub_service_pb2

class ProviderHubServiceStub:
    def __init__(self, channel: Any) -> None: ...
    Attach: Any

class ProviderHubServiceServicer:
    def Attach(self, request_iterator: Any, context: Any) -> Any: ...

def add_ProviderHubServiceServicer_to_server(servicer: ProviderHubServiceServicer, server: Any) -> None: ...
