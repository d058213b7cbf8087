// Command load is the cheap half of the benchmark: a gRPC load generator and an echo tool provider that cost the machine
// almost nothing, so that what is measured is the process between them. Messages are raw bytes, made by the caller.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// raw passes messages through as they are.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func main() {
	if len(os.Args) < 2 {
		fail("usage: load provider|run|offer|mcp [flags]")
	}
	switch os.Args[1] {
	case "provider":
		provider(os.Args[2:])
	case "run":
		run(os.Args[2:])
	case "offer":
		offer(os.Args[2:])
	case "mcp":
		mcp(os.Args[2:])
	default:
		fail("unknown command " + os.Args[1])
	}
}

func fail(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(2)
}

// provider answers Describe and Execute of ToolProviderService with the bytes in two files. Ended, it prints how many
// calls it has executed.
func provider(args []string) {
	flags := flag.NewFlagSet("provider", flag.ExitOnError)
	listen := flags.String("listen", "", "unix socket to listen on")
	describe := flags.String("describe", "", "file with the encoded DescribeResponse")
	execute := flags.String("execute", "", "file with the encoded ExecuteResponse")
	_ = flags.Parse(args)
	described, executed := read(*describe), read(*execute)
	var executions atomic.Int64
	answer := func(reply []byte, counted *atomic.Int64) grpc.StreamHandler {
		return func(_ any, stream grpc.ServerStream) error {
			if counted != nil {
				counted.Add(1)
			}
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			return stream.SendMsg(&reply)
		}
	}
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}))
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "interlock.v1.ToolProviderService",
		HandlerType: (*any)(nil),
		Streams: []grpc.StreamDesc{
			{StreamName: "Describe", Handler: answer(described, nil), ServerStreams: true},
			{StreamName: "Execute", Handler: answer(executed, &executions), ServerStreams: true},
		},
	}, nil)
	listener, err := net.Listen("unix", *listen)
	if err != nil {
		fail(err.Error())
	}
	fmt.Println("ready")
	ending := make(chan os.Signal, 1)
	signal.Notify(ending, syscall.SIGTERM)
	go func() {
		<-ending
		fmt.Println(executions.Load())
		os.Exit(0)
	}()
	if err := server.Serve(listener); err != nil {
		fail(err.Error())
	}
}

func read(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		fail(err.Error())
	}
	return data
}

type report struct {
	Calls       int     `json:"calls"`
	Failed      int     `json:"failed"`
	Seconds     float64 `json:"seconds"`
	PerSecond   float64 `json:"per_second"`
	P50Ms       float64 `json:"p50_ms"`
	P90Ms       float64 `json:"p90_ms"`
	P99Ms       float64 `json:"p99_ms"`
	MaxMs       float64 `json:"max_ms"`
	AnswerBytes int     `json:"answer_bytes"`
	Answer      []byte  `json:"answer"`
}

// run calls one method over and over and prints a report as JSON.
func run(args []string) {
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	target := flags.String("target", "", "address, such as unix:/run/x.sock")
	method := flags.String("method", "", "full method, such as /package.Service/Method")
	payload := flags.String("payload", "", "file with the encoded request")
	connections := flags.Int("connections", 1, "connections")
	concurrency := flags.Int("concurrency", 1, "calls at once, over all connections")
	seconds := flags.Float64("seconds", 3, "how long")
	warmup := flags.Float64("warmup", 0.5, "how long before it counts")
	_ = flags.Parse(args)
	caller := &caller{method: *method, request: read(*payload)}
	clients := dial(strings.TrimSpace(*target), *connections)
	caller.load(clients, *concurrency, *warmup)
	print(caller.load(clients, *concurrency, *seconds))
}

func dial(target string, count int) []*grpc.ClientConn {
	clients := make([]*grpc.ClientConn, count)
	for i := range clients {
		client, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(1<<30)))
		if err != nil {
			fail(err.Error())
		}
		clients[i] = client
	}
	return clients
}

type caller struct {
	method  string
	request []byte
}

func (c *caller) once(client *grpc.ClientConn) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var answer []byte
	return answer, client.Invoke(ctx, c.method, &c.request, &answer)
}

func (c *caller) load(clients []*grpc.ClientConn, concurrency int, seconds float64) report {
	var group sync.WaitGroup
	var failed atomic.Int64
	taken := make([][]float64, concurrency)
	began := time.Now()
	end := began.Add(time.Duration(seconds * float64(time.Second)))
	for worker := range concurrency {
		group.Add(1)
		go func() {
			defer group.Done()
			client := clients[worker%len(clients)]
			for time.Now().Before(end) {
				start := time.Now()
				if _, err := c.once(client); err != nil {
					failed.Add(1)
					continue
				}
				taken[worker] = append(taken[worker], time.Since(start).Seconds()*1000)
			}
		}()
	}
	group.Wait()
	lasted := time.Since(began).Seconds()
	var all []float64
	for _, some := range taken {
		all = append(all, some...)
	}
	sort.Float64s(all)
	answer, _ := c.once(clients[0])
	result := report{Calls: len(all), Failed: int(failed.Load()), Seconds: lasted, PerSecond: float64(len(all)) / lasted,
		AnswerBytes: len(answer), Answer: answer}
	if len(all) > 0 {
		at := func(share float64) float64 { return all[min(len(all)-1, int(share*float64(len(all))))] }
		result.P50Ms, result.P90Ms, result.P99Ms, result.MaxMs = at(0.5), at(0.9), at(0.99), all[len(all)-1]
	}
	return result
}

func print(result report) {
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		fail(err.Error())
	}
}
