/**
 * An agent's side of Interlock: what an agent does with a gateway, one function each. It takes a gateway and the toolbox
 * that serve, and somebody who runs `interlock checkpoints watch`: without them a call that needs a person is denied.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";

import { gatewayTransport } from "./connect.ts";
import { ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import { CallStatus, type CallResult, type ToolCallSchema } from "./gen/interlock/v1/call_pb.js";
import { CheckpointMode } from "./gen/interlock/v1/checkpoint_pb.js";
import { Effect } from "./gen/interlock/v1/decision_pb.js";
import { ErrorReason } from "./gen/interlock/v1/error_reason_pb.js";
import { GatewayService } from "./gen/interlock/v1/gateway_service_pb.js";
import { ResolveAction } from "./gen/interlock/v1/pending_pb.js";

const forever = 600_000; // how long a person may take, in milliseconds
const pageSize = 8000n; // lines of an artifact

const gateway = createClient(GatewayService, gatewayTransport());
let sessionId = "";

/** A call in this session, in the way the contract has it: its input is a JSON object in UTF-8. */
function toolCall(tool: string, input: object): MessageInitShape<typeof ToolCallSchema> {
  return { sessionId, tool, input: new TextEncoder().encode(JSON.stringify(input)) };
}

async function callTool(call: MessageInitShape<typeof ToolCallSchema>): Promise<CallResult> {
  const { result } = await gateway.callTool({ call });
  if (!result) throw new Error("an answer without a result");
  return result;
}

/** Which tools the session may see: hand name, description and input schema to the model. */
async function list() {
  const { tools } = await gateway.listTools({ sessionId });
  for (const { definition, classification } of tools) {
    console.log(`tool: ${definition?.name}, ${Effect[classification?.effect ?? Effect.UNSPECIFIED]}`);
  }
}

/** A call that policy allows. */
async function call() {
  const result = await callTool(toolCall("read", { path: "README.md" }));
  console.log(`call: ${describe(result)}, ${text(result).length} characters`);
}

/** One that policy refuses. That is an answer for the model, and no error. */
async function denied() {
  const result = await callTool(toolCall("bash", { command: "rm -rf ." }));
  for (const { code, message } of result.decision?.reasons ?? []) {
    console.log(`denied: ${describe(result)}, ${code}: ${message}`);
  }
}

/** One that is shown before anything changes; what was shown is then applied, and nothing else. */
async function preview() {
  const shown = await callTool(toolCall("write", { path: "ts.txt", content: "Written from TypeScript.\n" }));
  console.log(`preview: ${describe(shown)}, would affect ${shown.preview?.wouldAffect}`);
  if (!shown.pending) return; // nothing waits: policy let it run, or refused it
  const { pendingId } = shown.pending;
  const reason = "the preview shows what was asked for";
  const { result } = await gateway.resolve({ sessionId, pendingId, action: ResolveAction.APPLY, reason });
  console.log(`resolve: ${describe(result)}, ${text(result)}`);
}

/**
 * One that a person has to approve. It does not hold the call open, and waits for it by its id. The same call with the
 * same id could also be made again, now or tomorrow: it runs once.
 */
async function checkpoint() {
  const callId = "link";
  const asked = toolCall("bash", { command: "ln -s . ts-link" });
  const result = await callTool({ ...asked, callId, checkpointMode: CheckpointMode.DETACH });
  console.log(`checkpoint: ${describe(result)}, ${text(result)}`);
  if (result.status !== CallStatus.AWAITING_CHECKPOINT) return; // nobody can be asked, so it was denied at once
  const { call } = await gateway.waitCall({ sessionId, callId }, { timeoutMs: forever });
  console.log(`awaited: ${call?.settled ? describe(call.result) : "nobody has decided yet"}`);
}

/** Several calls at once. Answers come as they finish; the index says which call each belongs to. */
async function batch() {
  const calls = [
    toolCall("read", { path: "README.md" }),
    toolCall("glob", { pattern: "*.txt" }),
    toolCall("read", { path: "../outside.txt" }),
  ];
  const outcomes: string[] = [];
  for await (const { index, outcome } of gateway.callBatch({ sessionId, calls })) {
    if (outcome.case === "result") outcomes[index] = describe(outcome.value);
    if (outcome.case === "error") outcomes[index] = `error ${ErrorReason[outcome.value.reason]}`;
  }
  console.log(`batch: ${outcomes.join("; ")}`);
}

/** A result that was too large to be returned whole, read page by page. */
async function artifact() {
  const result = await callTool(toolCall("bash", { command: "seq 20000" }));
  const { uri = "", lines = 0n } = result.artifact ?? {};
  console.log(`artifact: ${describe(result)}, ${lines} lines`);
  for (let firstLine = 1n; firstLine <= lines; firstLine += pageSize) {
    const page: Uint8Array[] = [];
    const range = { case: "lines" as const, value: { firstLine, count: pageSize } };
    for await (const chunk of gateway.readArtifact({ uri, range })) page.push(chunk.data);
    const read = Buffer.concat(page).toString("utf8").trimEnd().split("\n");
    console.log(`page: from line ${firstLine}, ${read.length} lines`);
  }
}

/** A call's id used again for another input, which is an error of this program and not for the model. */
async function mistake() {
  try {
    for (const path of ["README.md", "ts.txt"]) await callTool({ ...toolCall("read", { path }), callId: "twice" });
  } catch (error) {
    console.log(`mistake: ${explain(error)}`);
  }
}

/**
 * Whether a call ran. Only COMPLETED means that it did; every other status, known or not, means that it did not, or that
 * nobody knows.
 */
function describe(result: CallResult | undefined): string {
  if (result?.status !== CallStatus.COMPLETED) {
    return `did not run (${CallStatus[result?.status ?? CallStatus.UNSPECIFIED]})`;
  }
  return result.isError ? "ran, and ended in an error" : "ran";
}

/** What the model reads: the content, then the gateway's own words. */
function text(result: CallResult | undefined): string {
  const content = result?.content.flatMap(({ part }) => (part.case === "text" ? [part.value.text] : []));
  return [...(content ?? []), ...(result?.steering ?? [])].join("\n");
}

/** What an error of the gateway carries: its reason, what it is about, and when to come back. */
function explain(cause: unknown): string {
  const error = ConnectError.from(cause);
  let words = `${Code[error.code]}: ${error.rawMessage}`;
  for (const { reason, metadata } of error.findDetails(ErrorInfoSchema)) {
    words += ` [${reason} ${JSON.stringify(metadata)}]`;
  }
  for (const { retryDelay } of error.findDetails(RetryInfoSchema)) {
    if (retryDelay) words += ` [again in ${durationMs(retryDelay)} ms]`;
  }
  return words;
}

try {
  // What the session is for: policy and people can read it.
  const { session } = await gateway.openSession({ intent: "show what an agent in TypeScript does" });
  sessionId = session?.sessionId ?? "";
  try {
    for (const step of [list, call, denied, preview, checkpoint, batch, artifact, mistake]) await step();
  } finally {
    await gateway.closeSession({ sessionId });
  }
} catch (error) {
  console.error(`failed: ${explain(error)}`);
  process.exitCode = 1;
}
