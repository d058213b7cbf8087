"""The bare hop to compare with: a grpc.aio server that passes one method through, unary, and does nothing else."""

import os
import sys

os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")

import grpc
import grpc.aio
import uvloop

SERVICE, METHOD = "interlock.v1.ToolProviderService", "Execute"


async def main(listen: str, upstream: str) -> None:
    """Serve `Execute` on `listen` by calling it on `upstream`, bytes for bytes."""
    channel = grpc.aio.insecure_channel(upstream)
    forward = channel.unary_unary(f"/{SERVICE}/{METHOD}")

    async def execute(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
        return await forward(request, timeout=context.time_remaining())

    server = grpc.aio.server()
    handler = grpc.method_handlers_generic_handler(SERVICE, {METHOD: grpc.unary_unary_rpc_method_handler(execute)})
    server.add_generic_rpc_handlers((handler,))
    server.add_insecure_port(listen)
    await server.start()
    print("ready", flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], sys.argv[2]))
