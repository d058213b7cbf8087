import { connect } from "node:net";

import type { Interceptor, Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";

const patience = 30_000; // the deadline of each request that is given none, in milliseconds

/**
 * A gRPC transport to the gateway that INTERLOCK_ADDRESS names: "unix:/path", or "host:port" with the token in
 * INTERLOCK_TOKEN. Plain text is for this machine only; elsewhere begin the base URL with https.
 */
export function gatewayTransport(): Transport {
  const address = process.env.INTERLOCK_ADDRESS || "127.0.0.1:7080";
  const token = process.env.INTERLOCK_TOKEN;
  const withToken: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  const options = { defaultTimeoutMs: patience, interceptors: token ? [withToken] : [] };
  if (!address.startsWith("unix:")) {
    return createGrpcTransport({ ...options, baseUrl: `http://${address}` });
  }
  const path = address.slice("unix:".length);
  return createGrpcTransport({
    ...options,
    baseUrl: "http://localhost",
    nodeOptions: { createConnection: () => connect(path) },
  });
}
