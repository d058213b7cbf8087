// An agent's side of Interlock: what an agent does with a gateway, one function each. It takes a gateway and the toolbox
// that serve, and somebody who runs `interlock checkpoints watch`: without them a call that needs a person is denied.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	pb "example.com/interlock/gen/interlock/v1"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
)

const (
	patience = 30 * time.Second // the deadline of each request
	forever  = 10 * time.Minute // how long a person may take
	pageSize = 8000             // lines of an artifact
)

// agent is one conversation: all its calls are made in one session.
type agent struct {
	gateway pb.GatewayServiceClient
	session string
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "failed:", explain(err))
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	channel, err := connect()
	if err != nil {
		return err
	}
	defer channel.Close()
	a, err := open(ctx, pb.NewGatewayServiceClient(channel))
	if err != nil {
		return err
	}
	defer a.close(ctx)
	for _, step := range []func(context.Context) error{
		a.list, a.call, a.denied, a.preview, a.checkpoint, a.batch, a.artifact, a.mistake,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// open says what the session is for; policy and people can read it.
func open(ctx context.Context, gateway pb.GatewayServiceClient) (*agent, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := gateway.OpenSession(ctx, &pb.OpenSessionRequest{Intent: "show what an agent in Go does"})
	if err != nil {
		return nil, err
	}
	return &agent{gateway, answer.GetSession().GetSessionId()}, nil
}

func (a *agent) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, _ = a.gateway.CloseSession(ctx, &pb.CloseSessionRequest{SessionId: a.session})
}

// list shows which tools the session may see: hand name, description and input schema to the model.
func (a *agent) list(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := a.gateway.ListTools(ctx, &pb.ListToolsRequest{SessionId: a.session})
	if err != nil {
		return err
	}
	for _, tool := range answer.GetTools() {
		fmt.Printf("tool: %s, %s\n", tool.GetDefinition().GetName(), tool.GetClassification().GetEffect())
	}
	return nil
}

// call makes a call that policy allows.
func (a *agent) call(ctx context.Context) error {
	result, err := a.callTool(ctx, a.toolCall("read", input{"path": "README.md"}))
	if err != nil {
		return err
	}
	fmt.Printf("call: %s, %d characters\n", describe(result), len(text(result)))
	return nil
}

// denied makes one that policy refuses. That is an answer for the model, and no error.
func (a *agent) denied(ctx context.Context) error {
	result, err := a.callTool(ctx, a.toolCall("bash", input{"command": "rm -rf ."}))
	if err != nil {
		return err
	}
	for _, reason := range result.GetDecision().GetReasons() {
		fmt.Printf("denied: %s, %s: %s\n", describe(result), reason.GetCode(), reason.GetMessage())
	}
	return nil
}

// preview makes one that is shown before anything changes, and then applies what was shown, and nothing else.
func (a *agent) preview(ctx context.Context) error {
	result, err := a.callTool(ctx, a.toolCall("write", input{"path": "go.txt", "content": "Written from Go.\n"}))
	if err != nil {
		return err
	}
	fmt.Printf("preview: %s, would affect %v\n", describe(result), result.GetPreview().GetWouldAffect())
	if result.GetPending() == nil {
		return nil // nothing waits: policy let it run, or refused it
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := a.gateway.Resolve(ctx, &pb.ResolveRequest{
		SessionId: a.session,
		PendingId: &result.GetPending().PendingId,
		Action:    pb.ResolveAction_RESOLVE_ACTION_APPLY,
		Reason:    "the preview shows what was asked for",
	})
	if err != nil {
		return err
	}
	fmt.Printf("resolve: %s, %s\n", describe(answer.GetResult()), text(answer.GetResult()))
	return nil
}

// checkpoint makes one that a person has to approve. It does not hold the call open, and waits for it by its id. The same
// call with the same id could also be made again, now or tomorrow: it runs once.
func (a *agent) checkpoint(ctx context.Context) error {
	call := a.toolCall("bash", input{"command": "ln -s . go-link"})
	call.CallId = "link"
	call.CheckpointMode = pb.CheckpointMode_CHECKPOINT_MODE_DETACH
	result, err := a.callTool(ctx, call)
	if err != nil {
		return err
	}
	fmt.Printf("checkpoint: %s, %s\n", describe(result), text(result))
	if result.GetStatus() != pb.CallStatus_CALL_STATUS_AWAITING_CHECKPOINT {
		return nil // nobody can be asked, so it was denied at once
	}
	ctx, cancel := context.WithTimeout(ctx, forever)
	defer cancel()
	answer, err := a.gateway.WaitCall(ctx, &pb.WaitCallRequest{SessionId: a.session, CallId: call.GetCallId()})
	if err != nil {
		return err
	}
	if !answer.GetCall().GetSettled() {
		fmt.Println("awaited: nobody has decided yet")
		return nil
	}
	fmt.Printf("awaited: %s\n", describe(answer.GetCall().GetResult()))
	return nil
}

// batch makes several calls at once. Answers come as they finish; Index says which call each belongs to.
func (a *agent) batch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := a.gateway.CallBatch(ctx, &pb.CallBatchRequest{SessionId: a.session, Calls: []*pb.ToolCall{
		a.toolCall("read", input{"path": "README.md"}),
		a.toolCall("glob", input{"pattern": "*.txt"}),
		a.toolCall("read", input{"path": "../outside.txt"}),
	}})
	if err != nil {
		return err
	}
	outcomes := make([]string, 3)
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch outcome := answer.GetOutcome().(type) {
		case *pb.CallBatchResponse_Result:
			outcomes[answer.GetIndex()] = describe(outcome.Result)
		case *pb.CallBatchResponse_Error:
			outcomes[answer.GetIndex()] = outcome.Error.GetReason().String()
		}
	}
	fmt.Printf("batch: %s\n", strings.Join(outcomes, "; "))
	return nil
}

// artifact reads a result page by page that was too large to be returned whole.
func (a *agent) artifact(ctx context.Context) error {
	result, err := a.callTool(ctx, a.toolCall("bash", input{"command": "seq 20000"}))
	if err != nil {
		return err
	}
	stored := result.GetArtifact()
	fmt.Printf("artifact: %s, %d lines\n", describe(result), stored.GetLines())
	for first := uint64(1); first <= stored.GetLines(); first += pageSize {
		page, err := a.page(ctx, stored.GetUri(), first)
		if err != nil {
			return err
		}
		fmt.Printf("page: from line %d, %d lines\n", first, strings.Count(page, "\n"))
	}
	return nil
}

// page reads up to pageSize lines of an artifact, which come in chunks.
func (a *agent) page(ctx context.Context, uri string, first uint64) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stream, err := a.gateway.ReadArtifact(ctx, &pb.ReadArtifactRequest{
		Uri:   uri,
		Range: &pb.ReadArtifactRequest_Lines{Lines: &pb.LineRange{FirstLine: first, Count: pageSize}},
	})
	if err != nil {
		return "", err
	}
	var page strings.Builder
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return page.String(), nil
		}
		if err != nil {
			return "", err
		}
		page.Write(chunk.GetData())
	}
}

// mistake uses a call's id again for another input, which is an error of this program and not for the model.
func (a *agent) mistake(ctx context.Context) error {
	for _, path := range []string{"README.md", "go.txt"} {
		call := a.toolCall("read", input{"path": path})
		call.CallId = "twice"
		if _, err := a.callTool(ctx, call); err != nil {
			fmt.Println("mistake:", explain(err))
		}
	}
	return nil
}

type input map[string]any

func (a *agent) toolCall(tool string, in input) *pb.ToolCall {
	encoded, _ := json.Marshal(in) // of strings, so it cannot fail
	return &pb.ToolCall{SessionId: a.session, Tool: tool, Input: encoded}
}

func (a *agent) callTool(ctx context.Context, call *pb.ToolCall) (*pb.CallResult, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := a.gateway.CallTool(ctx, &pb.CallToolRequest{Call: call})
	return answer.GetResult(), err
}

// describe says whether a call ran. Only COMPLETED means that it did; every other status, known or not, means that it
// did not, or that nobody knows.
func describe(result *pb.CallResult) string {
	if result.GetStatus() != pb.CallStatus_CALL_STATUS_COMPLETED {
		return "did not run (" + strings.TrimPrefix(result.GetStatus().String(), "CALL_STATUS_") + ")"
	}
	if result.GetIsError() {
		return "ran, and ended in an error"
	}
	return "ran"
}

// text is what the model reads: the content, then the gateway's own words.
func text(result *pb.CallResult) string {
	var parts []string
	for _, part := range result.GetContent() {
		if words := part.GetText().GetText(); words != "" {
			parts = append(parts, words)
		}
	}
	return strings.Join(append(parts, result.GetSteering()...), "\n")
}

// explain decodes what an error of the gateway carries: its reason, what it is about, and when to come back.
func explain(err error) string {
	answer := status.Convert(err)
	words := answer.Code().String() + ": " + answer.Message()
	for _, detail := range answer.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			words += fmt.Sprintf(" [%s %v]", detail.GetReason(), detail.GetMetadata())
		case *errdetails.RetryInfo:
			words += fmt.Sprintf(" [again in %s]", detail.GetRetryDelay().AsDuration())
		}
	}
	return words
}
