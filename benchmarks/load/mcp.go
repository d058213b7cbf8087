package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"sync"
	"time"
)

// handshake is the last revision of MCP with sessions; later ones say everything in every request.
const handshake = "2025-11-25"

// mcp calls one tool of an MCP server over streamable HTTP, over and over, each connection with a session of its own,
// and prints a report as JSON.
func mcp(args []string) {
	flags := flag.NewFlagSet("mcp", flag.ExitOnError)
	url := flags.String("url", "", "address, such as http://127.0.0.1:8000/mcp")
	tool := flags.String("tool", "echo", "the tool")
	payload := flags.String("payload", "", "file with the arguments, a JSON object")
	token := flags.String("token", "", "bearer token to send")
	revision := flags.String("revision", handshake, "revision of MCP")
	connections := flags.Int("connections", 1, "connections, each with one call at a time")
	seconds := flags.Float64("seconds", 3, "how long")
	warmup := flags.Float64("warmup", 0.5, "how long before it counts")
	_ = flags.Parse(args)
	clients := make([]*mcpClient, *connections)
	for i := range clients {
		clients[i] = newMcpClient(*url, *revision, *token)
		clients[i].open()
		clients[i].prepare(*tool, read(*payload))
	}
	loadMcp(clients, *warmup)
	print(loadMcp(clients, *seconds))
	for _, client := range clients {
		client.close()
	}
}

type mcpClient struct {
	http     *http.Client
	url      string
	revision string
	token    string
	session  string
	tool     string
	body     []byte
}

func newMcpClient(url, revision, token string) *mcpClient {
	transport := &http.Transport{MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, DisableCompression: true}
	client := &http.Client{Transport: transport, Timeout: 10 * time.Second}
	return &mcpClient{http: client, url: url, revision: revision, token: token}
}

func (c *mcpClient) stateless() bool { return c.revision > handshake }

// open shakes hands, where the revision has that.
func (c *mcpClient) open() {
	if c.stateless() {
		return
	}
	opening := fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,`+
		`"capabilities":{},"clientInfo":{"name":"load","version":"1"}}}`, c.revision)
	answer, header, err := c.post([]byte(opening), "initialize")
	if err != nil {
		fail(fmt.Sprintf("initialize: %v: %s", err, answer))
	}
	c.session = header.Get("Mcp-Session-Id")
	if answer, _, err = c.post([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), ""); err != nil {
		fail(fmt.Sprintf("initialized: %v: %s", err, answer))
	}
}

func (c *mcpClient) prepare(tool string, arguments []byte) {
	meta := ""
	if c.stateless() {
		meta = fmt.Sprintf(`,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
			`"io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},`+
			`"io.modelcontextprotocol/clientCapabilities":{}}`, c.revision)
	}
	c.tool = tool
	c.body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`,
		tool, bytes.TrimSpace(arguments), meta)
}

func (c *mcpClient) call() ([]byte, error) {
	answer, _, err := c.post(c.body, "tools/call")
	if err == nil && (!bytes.Contains(answer, []byte(`"result"`)) || bytes.Contains(answer, []byte(`"isError":true`))) {
		err = fmt.Errorf("no result: %s", answer)
	}
	return answer, err
}

// post sends one message and returns the JSON of its answer, which comes as such or as the last event of a stream.
func (c *mcpClient) post(body []byte, method string) ([]byte, http.Header, error) {
	request, err := http.NewRequest(http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if method != "initialize" {
		request.Header.Set("Mcp-Protocol-Version", c.revision)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.session != "" {
		request.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.stateless() {
		request.Header.Set("Mcp-Method", method)
		request.Header.Set("Mcp-Name", c.tool)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		answer = lastEvent(answer)
	}
	return answer, response.Header, err
}

func lastEvent(stream []byte) []byte {
	var last []byte
	for _, line := range bytes.Split(stream, []byte("\n")) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			last = bytes.TrimSpace(data)
		}
	}
	return last
}

func (c *mcpClient) close() {
	if c.session == "" {
		return
	}
	if request, err := http.NewRequest(http.MethodDelete, c.url, nil); err == nil {
		if c.token != "" {
			request.Header.Set("Authorization", "Bearer "+c.token)
		}
		request.Header.Set("Mcp-Session-Id", c.session)
		request.Header.Set("Mcp-Protocol-Version", c.revision)
		if response, err := c.http.Do(request); err == nil {
			response.Body.Close()
		}
	}
}

func loadMcp(clients []*mcpClient, seconds float64) report {
	var group sync.WaitGroup
	taken, failures := make([][]float64, len(clients)), make([]int, len(clients))
	var answer []byte
	var once sync.Once
	began := time.Now()
	end := began.Add(time.Duration(seconds * float64(time.Second)))
	for worker, client := range clients {
		group.Add(1)
		go func() {
			defer group.Done()
			for time.Now().Before(end) {
				start := time.Now()
				_, err := client.call()
				if err != nil {
					failures[worker]++
					once.Do(func() { answer = []byte(err.Error()) })
					continue
				}
				taken[worker] = append(taken[worker], time.Since(start).Seconds()*1000)
			}
		}()
	}
	group.Wait()
	result := report{Seconds: time.Since(began).Seconds()}
	var all []float64
	for worker, some := range taken {
		all = append(all, some...)
		result.Failed += failures[worker]
	}
	sort.Float64s(all)
	if answer == nil {
		answer, _ = clients[0].call()
	}
	result.Calls, result.PerSecond = len(all), float64(len(all))/result.Seconds
	result.AnswerBytes, result.Answer = len(answer), answer
	if len(all) > 0 {
		at := func(share float64) float64 { return all[min(len(all)-1, int(share*float64(len(all))))] }
		result.P50Ms, result.P90Ms, result.P99Ms, result.MaxMs = at(0.5), at(0.9), at(0.99), all[len(all)-1]
	}
	return result
}
