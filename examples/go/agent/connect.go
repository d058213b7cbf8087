package main

import (
	"context"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// connect opens a channel to the gateway that INTERLOCK_ADDRESS names: "unix:/path", or "host:port" with the token in
// INTERLOCK_TOKEN. Plain text is for this machine only; elsewhere use credentials.NewTLS.
func connect() (*grpc.ClientConn, error) {
	address := os.Getenv("INTERLOCK_ADDRESS")
	if address == "" {
		address = "127.0.0.1:7080"
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(32 << 20)), // images are part of a result
	}
	if value := os.Getenv("INTERLOCK_TOKEN"); value != "" {
		options = append(options, grpc.WithPerRPCCredentials(token(value)))
	}
	return grpc.NewClient(address, options...)
}

// token proves who calls.
type token string

func (t token) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(t)}, nil
}

// RequireTransportSecurity is false because this example speaks to loopback.
func (token) RequireTransportSecurity() bool { return false }
