// A provider of tools in Go: notes that are kept in memory. `go run ./provider unix:/path/notes.sock` serves them.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	pb "example.com/interlock/gen/interlock/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

const readSchema = `{
	"type": "object", "additionalProperties": false, "required": ["title"],
	"properties": {"title": {"type": "string", "minLength": 1}}
}`

const writeSchema = `{
	"type": "object", "additionalProperties": false, "required": ["title", "text"],
	"properties": {"title": {"type": "string", "minLength": 1}, "text": {"type": "string"}}
}`

// note is the input of both tools. The gateway has held it against the schema before it arrives here.
type note struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// notes serves the tools. What it does not implement is answered with UNIMPLEMENTED, as the contract asks for.
type notes struct {
	pb.UnimplementedToolProviderServiceServer
	mutex sync.Mutex
	kept  map[string]string
}

// Describe says what the tools do. Policy decides by it, once an operator has confirmed it; a flag that is not set
// means that the tool does not say, and is taken for the worst.
func (n *notes) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return &pb.DescribeResponse{Name: "notes", Version: "1.0", Tools: []*pb.ToolDefinition{
		{
			Name:        "read_note",
			Description: "Read a note.",
			InputSchema: []byte(readSchema),
			Metadata: &pb.ToolMetadata{
				ReadOnly:        proto.Bool(true),
				Destructive:     proto.Bool(false),
				OpenWorld:       proto.Bool(false),
				ConcurrencySafe: proto.Bool(true),
			},
		},
		{
			Name:        "write_note",
			Description: "Write a note, in place of what it said before.",
			InputSchema: []byte(writeSchema),
			Metadata: &pb.ToolMetadata{
				ReadOnly:    proto.Bool(false),
				Destructive: proto.Bool(true),
				OpenWorld:   proto.Bool(false),
			},
			Capability: &pb.ToolCapability{DryRun: true}, // so policy can ask for a preview
		},
	}}, nil
}

// DryRun says what writing a note would do, and does not. The token stands for the state that it looked at.
func (n *notes) DryRun(_ context.Context, request *pb.DryRunRequest) (*pb.DryRunResponse, error) {
	in, err := inputOf(request.GetInvocation(), "write_note")
	if err != nil {
		return nil, err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	before, exists := n.kept[in.Title]
	return &pb.DryRunResponse{
		WouldAffect: []string{in.Title},
		Preview:     fmt.Sprintf("- %s\n+ %s", before, in.Text),
		StateToken:  stateToken(before, exists),
		Label:       "write " + in.Title,
	}, nil
}

// Execute runs a call. Progress and output may be sent before the result, which comes last.
func (n *notes) Execute(request *pb.ExecuteRequest, stream pb.ToolProviderService_ExecuteServer) error {
	result, err := n.run(request)
	if err != nil {
		return err
	}
	return stream.Send(&pb.ExecuteResponse{Event: &pb.ExecuteResponse_Result{Result: result}})
}

func (n *notes) run(request *pb.ExecuteRequest) (*pb.ToolResult, error) {
	in, err := inputOf(request.GetInvocation(), "read_note", "write_note")
	if err != nil {
		return nil, err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	before, exists := n.kept[in.Title]
	if request.GetInvocation().GetTool() == "read_note" {
		if !exists {
			return &pb.ToolResult{IsError: true, ToolError: true, Output: "there is no note " + in.Title}, nil
		}
		return &pb.ToolResult{Output: before}, nil
	}
	// What is applied is what was previewed, or nothing.
	if apply := request.GetApply(); apply.GetStateToken() != "" && apply.GetStateToken() != stateToken(before, exists) {
		return &pb.ToolResult{IsError: true, StateChanged: true, Output: in.Title + " has changed since"}, nil
	}
	n.kept[in.Title] = in.Text
	return &pb.ToolResult{Output: "wrote " + in.Title}, nil
}

// inputOf decodes the input of a call of one of these tools.
func inputOf(invocation *pb.ToolInvocation, tools ...string) (in note, err error) {
	for _, tool := range tools {
		if tool == invocation.GetTool() {
			if err := json.Unmarshal(invocation.GetInput(), &in); err != nil {
				return in, status.Error(codes.InvalidArgument, err.Error())
			}
			return in, nil
		}
	}
	return in, status.Errorf(codes.NotFound, "there is no tool %q here", invocation.GetTool())
}

func stateToken(text string, exists bool) string {
	return fmt.Sprintf("%t %x", exists, sha256.Sum256([]byte(text)))
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: provider unix:/path/notes.sock | 127.0.0.1:PORT")
	}
	listener, err := listen(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.MaxRecvMsgSize(16 << 20)) // an input has up to 4 MiB
	pb.RegisterToolProviderServiceServer(server, &notes{kept: map[string]string{}})
	stop, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	context.AfterFunc(stop, server.GracefulStop) // calls under way are finished
	fmt.Println("serving notes at", os.Args[1])
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
}

// listen opens a port of this machine, or a socket that only this user can reach: whoever reaches it needs no gateway.
func listen(address string) (net.Listener, error) {
	path, isSocket := strings.CutPrefix(address, "unix:")
	if !isSocket {
		return net.Listen("tcp", address)
	}
	syscall.Umask(0o077)
	_ = os.Remove(path)
	return net.Listen("unix", path)
}
