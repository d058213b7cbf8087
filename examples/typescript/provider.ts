/** A provider of tools in TypeScript: feature flags that are kept in memory. `node provider.ts unix:/path/flags.sock` */
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { createServer } from "node:http2";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";

import type { ToolInvocation } from "./gen/interlock/v1/provider_pb.js";
import type { ToolDefinitionSchema } from "./gen/interlock/v1/tool_pb.js";
import { ToolProviderService } from "./gen/interlock/v1/tool_provider_service_pb.js";

type Flag = { name: string; value?: string };

const flags = new Map([["dark_mode", "off"]]);

const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

function schema(properties: Record<string, object>) {
  return json({ type: "object", properties, required: Object.keys(properties), additionalProperties: false });
}

const name = { type: "string", minLength: 1 };

/**
 * What the tools say they do. Policy decides by it, once an operator has confirmed it; a flag that is not set means that
 * the tool does not say, and is taken for the worst.
 */
const tools = [
  {
    name: "get_flag",
    description: "Look up what a feature flag is set to.",
    inputSchema: schema({ name }),
    metadata: { readOnly: true, destructive: false, openWorld: false, concurrencySafe: true },
  },
  {
    name: "set_flag",
    description: "Set a feature flag, for all users at once.",
    inputSchema: schema({ name, value: { enum: ["on", "off"] } }),
    metadata: { readOnly: false, destructive: true, openWorld: false },
    capability: { dryRun: true }, // so policy can ask for a preview
  },
] satisfies MessageInitShape<typeof ToolDefinitionSchema>[];

/** What is not implemented is answered with UNIMPLEMENTED, as the contract asks for. */
function routes({ service }: ConnectRouter) {
  service(ToolProviderService, {
    describe: () => ({ name: "flags", version: "1.0", tools }),

    /** What setting a flag would do; nothing is changed. The token stands for the state that was looked at. */
    dryRun({ invocation }) {
      const { name, value } = inputOf(invocation, "set_flag");
      return {
        wouldAffect: [name],
        preview: `${name}: ${flags.get(name) ?? "not set"} -> ${value}`,
        stateToken: stateToken(name),
        label: `set ${name} to ${value}`,
      };
    },

    /** Runs a call. Progress and output may come before the result, which comes last. */
    async *execute({ invocation, apply }) {
      const { name, value } = inputOf(invocation, "get_flag", "set_flag");
      yield { event: { case: "result" as const, value: run(name, value, apply?.stateToken) } };
    },
  });
}

function run(name: string, value?: string, previewed?: string) {
  if (value === undefined) {
    const found = flags.get(name);
    return found ? { output: found } : { isError: true, toolError: true, output: `there is no flag ${name}` };
  }
  // What is applied is what was previewed, or nothing.
  if (previewed && previewed !== stateToken(name)) {
    return { isError: true, stateChanged: true, output: `${name} has changed since` };
  }
  flags.set(name, value);
  return { output: `${name} is ${value}` };
}

/** The input of a call of one of these tools. The gateway has held it against the schema before it arrives here. */
function inputOf(invocation: ToolInvocation | undefined, ...tools: string[]): Flag {
  if (!invocation || !tools.includes(invocation.tool)) {
    throw new ConnectError(`there is no tool ${invocation?.tool} here`, Code.NotFound);
  }
  return JSON.parse(new TextDecoder().decode(invocation.input));
}

function stateToken(name: string): string {
  return createHash("sha256").update(flags.get(name) ?? "").digest("hex");
}

const address = process.argv[2] ?? "";
const server = createServer(connectNodeAdapter({ routes }));
process.umask(0o077); // whoever reaches the socket needs no gateway
if (address.startsWith("unix:")) {
  const path = address.slice("unix:".length);
  rmSync(path, { force: true });
  server.listen(path, ready);
} else {
  const { hostname, port } = new URL(`http://${address}`);
  server.listen(Number(port), hostname, ready);
}

function ready() {
  console.log(`serving flags at ${address}`);
}
