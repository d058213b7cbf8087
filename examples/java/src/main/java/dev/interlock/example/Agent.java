package dev.interlock.example;

import com.google.gson.Gson;
import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import dev.interlock.v1.Artifact;
import dev.interlock.v1.CallBatchRequest;
import dev.interlock.v1.CallBatchResponse;
import dev.interlock.v1.CallRecord;
import dev.interlock.v1.CallResult;
import dev.interlock.v1.CallStatus;
import dev.interlock.v1.CallToolRequest;
import dev.interlock.v1.CheckpointMode;
import dev.interlock.v1.CloseSessionRequest;
import dev.interlock.v1.Content;
import dev.interlock.v1.GatewayServiceGrpc;
import dev.interlock.v1.GatewayServiceGrpc.GatewayServiceBlockingStub;
import dev.interlock.v1.LineRange;
import dev.interlock.v1.ListToolsRequest;
import dev.interlock.v1.ListedTool;
import dev.interlock.v1.OpenSessionRequest;
import dev.interlock.v1.ReadArtifactRequest;
import dev.interlock.v1.ReadArtifactResponse;
import dev.interlock.v1.Reason;
import dev.interlock.v1.ResolveAction;
import dev.interlock.v1.ResolveRequest;
import dev.interlock.v1.ToolCall;
import dev.interlock.v1.WaitCallRequest;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * An agent's side of Interlock: what an agent does with a gateway, one method each. It takes a gateway and the toolbox
 * that serve, and somebody who runs {@code interlock checkpoints watch}: without them a call that needs a person is
 * denied.
 */
public final class Agent implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(30); // the deadline of each request
    private static final Duration FOREVER = Duration.ofMinutes(10); // how long a person may take
    private static final long PAGE_SIZE = 8000; // lines of an artifact

    private final GatewayServiceBlockingStub stub;
    private final String session;

    /** Says what the session is for; policy and people can read it. */
    private Agent(GatewayServiceBlockingStub stub) {
        this.stub = stub;
        OpenSessionRequest request =
                OpenSessionRequest.newBuilder().setIntent("show what an agent in Java does").build();
        session = gateway().openSession(request).getSession().getSessionId();
    }

    public static void main(String[] arguments) throws InterruptedException {
        ManagedChannel channel = Gateway.connect();
        try (Agent agent = new Agent(GatewayServiceGrpc.newBlockingStub(channel))) {
            agent.list();
            agent.call();
            agent.denied();
            agent.preview();
            agent.checkpoint();
            agent.batch();
            agent.artifact();
            agent.mistake();
        } catch (StatusRuntimeException error) {
            System.err.println("failed: " + explain(error));
            System.exit(1);
        } finally {
            channel.shutdown().awaitTermination(5, TimeUnit.SECONDS);
        }
    }

    /** The gateway, for one request: a deadline begins when it is set. */
    private GatewayServiceBlockingStub gateway() {
        return stub.withDeadlineAfter(PATIENCE);
    }

    /** Which tools the session may see: hand name, description and input schema to the model. */
    private void list() {
        ListToolsRequest request = ListToolsRequest.newBuilder().setSessionId(session).build();
        for (ListedTool tool : gateway().listTools(request).getToolsList()) {
            System.out.printf("tool: %s, %s%n", tool.getDefinition().getName(), tool.getClassification().getEffect());
        }
    }

    /** A call that policy allows. */
    private void call() {
        CallResult result = callTool(toolCall("read", Map.of("path", "README.md")));
        System.out.printf("call: %s, %d characters%n", describe(result), text(result).length());
    }

    /** One that policy refuses. That is an answer for the model, and no error. */
    private void denied() {
        CallResult result = callTool(toolCall("bash", Map.of("command", "rm -rf .")));
        for (Reason reason : result.getDecision().getReasonsList()) {
            System.out.printf("denied: %s, %s: %s%n", describe(result), reason.getCode(), reason.getMessage());
        }
    }

    /** One that is shown before anything changes; what was shown is then applied, and nothing else. */
    private void preview() {
        CallResult shown = callTool(toolCall("write", Map.of("path", "java.txt", "content", "Written from Java.\n")));
        System.out.printf("preview: %s, would affect %s%n", describe(shown), shown.getPreview().getWouldAffectList());
        if (!shown.hasPending()) {
            return; // nothing waits: policy let it run, or refused it
        }
        ResolveRequest request = ResolveRequest.newBuilder()
                .setSessionId(session)
                .setPendingId(shown.getPending().getPendingId())
                .setAction(ResolveAction.RESOLVE_ACTION_APPLY)
                .setReason("the preview shows what was asked for")
                .build();
        CallResult applied = gateway().resolve(request).getResult();
        System.out.printf("resolve: %s, %s%n", describe(applied), text(applied));
    }

    /**
     * One that a person has to approve. It does not hold the call open, and waits for it by its id. The same call with
     * the same id could also be made again, now or tomorrow: it runs once.
     */
    private void checkpoint() {
        CallResult result = callTool(toolCall("bash", Map.of("command", "ln -s . java-link"))
                .setCallId("link")
                .setCheckpointMode(CheckpointMode.CHECKPOINT_MODE_DETACH));
        System.out.printf("checkpoint: %s, %s%n", describe(result), text(result));
        if (result.getStatus() != CallStatus.CALL_STATUS_AWAITING_CHECKPOINT) {
            return; // nobody can be asked, so it was denied at once
        }
        WaitCallRequest request =
                WaitCallRequest.newBuilder().setSessionId(session).setCallId("link").build();
        CallRecord call = stub.withDeadlineAfter(FOREVER).waitCall(request).getCall();
        System.out.printf("awaited: %s%n", call.getSettled() ? describe(call.getResult()) : "nobody has decided yet");
    }

    /** Several calls at once. Answers come as they finish; the index says which call each belongs to. */
    private void batch() {
        CallBatchRequest request = CallBatchRequest.newBuilder()
                .setSessionId(session)
                .addCalls(toolCall("read", Map.of("path", "README.md")))
                .addCalls(toolCall("glob", Map.of("pattern", "*.txt")))
                .addCalls(toolCall("read", Map.of("path", "../outside.txt")))
                .build();
        String[] outcomes = new String[request.getCallsCount()];
        Iterator<CallBatchResponse> answers = gateway().callBatch(request);
        while (answers.hasNext()) {
            CallBatchResponse answer = answers.next();
            outcomes[answer.getIndex()] =
                    answer.hasResult() ? describe(answer.getResult()) : "error " + answer.getError().getReason();
        }
        System.out.println("batch: " + String.join("; ", outcomes));
    }

    /** A result that was too large to be returned whole, read page by page. */
    private void artifact() {
        CallResult result = callTool(toolCall("bash", Map.of("command", "seq 20000")));
        Artifact artifact = result.getArtifact();
        System.out.printf("artifact: %s, %d lines%n", describe(result), artifact.getLines());
        for (long first = 1; first <= artifact.getLines(); first += PAGE_SIZE) {
            long lines = page(artifact.getUri(), first).lines().count();
            System.out.printf("page: from line %d, %d lines%n", first, lines);
        }
    }

    /** Up to PAGE_SIZE lines of an artifact, which come in chunks. */
    private String page(String uri, long first) {
        LineRange lines = LineRange.newBuilder().setFirstLine(first).setCount(PAGE_SIZE).build();
        Iterator<ReadArtifactResponse> chunks = gateway()
                .readArtifact(ReadArtifactRequest.newBuilder().setUri(uri).setLines(lines).build());
        ByteString page = ByteString.EMPTY;
        while (chunks.hasNext()) {
            page = page.concat(chunks.next().getData());
        }
        return page.toStringUtf8();
    }

    /** A call's id used again for another input, which is an error of this program and not for the model. */
    private void mistake() {
        try {
            for (String path : List.of("README.md", "java.txt")) {
                callTool(toolCall("read", Map.of("path", path)).setCallId("twice"));
            }
        } catch (StatusRuntimeException error) {
            System.out.println("mistake: " + explain(error));
        }
    }

    @Override
    public void close() {
        gateway().closeSession(CloseSessionRequest.newBuilder().setSessionId(session).build());
    }

    private ToolCall.Builder toolCall(String tool, Map<String, String> input) {
        return ToolCall.newBuilder()
                .setSessionId(session)
                .setTool(tool)
                .setInput(ByteString.copyFromUtf8(new Gson().toJson(input)));
    }

    private CallResult callTool(ToolCall.Builder call) {
        return gateway().callTool(CallToolRequest.newBuilder().setCall(call).build()).getResult();
    }

    /**
     * Whether a call ran. Only COMPLETED means that it did; every other status, known or not, means that it did not, or
     * that nobody knows.
     */
    private static String describe(CallResult result) {
        if (result.getStatus() != CallStatus.CALL_STATUS_COMPLETED) {
            return "did not run (" + result.getStatus().name().replace("CALL_STATUS_", "") + ")";
        }
        return result.getIsError() ? "ran, and ended in an error" : "ran";
    }

    /** What the model reads: the content, then the gateway's own words. */
    private static String text(CallResult result) {
        List<String> parts = new ArrayList<>();
        for (Content part : result.getContentList()) {
            if (part.hasText()) {
                parts.add(part.getText().getText());
            }
        }
        parts.addAll(result.getSteeringList());
        return String.join("\n", parts);
    }

    /** What an error of the gateway carries: its reason, what it is about, and when to come back. */
    private static String explain(StatusRuntimeException error) {
        StringBuilder words = new StringBuilder(error.getMessage());
        com.google.rpc.Status status = StatusProto.fromThrowable(error);
        try {
            for (Any detail : status == null ? List.<Any>of() : status.getDetailsList()) {
                if (detail.is(ErrorInfo.class)) {
                    ErrorInfo info = detail.unpack(ErrorInfo.class);
                    words.append(" [" + info.getReason() + " " + info.getMetadataMap() + "]");
                } else if (detail.is(RetryInfo.class)) {
                    words.append(" [again in " + detail.unpack(RetryInfo.class).getRetryDelay().getSeconds() + "s]");
                }
            }
        } catch (InvalidProtocolBufferException unreadable) {
            words.append(" [" + unreadable.getMessage() + "]");
        }
        return words.toString();
    }
}
