package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// tick is how often calls leave: those of one tick leave together.
const tick = time.Millisecond

// offered is what became of calls that came at a rate of their own, whether those before them were answered or not.
type offered struct {
	Offered        int            `json:"offered"`
	Unsent         int            `json:"unsent"`
	Ok             int            `json:"ok"`
	OkPerSecond    float64        `json:"ok_per_second"`
	Refused        int            `json:"refused"`
	RefusedNoRetry int            `json:"refused_without_retry_info"`
	Others         map[string]int `json:"others"`
	Seconds        float64        `json:"seconds"`
	OkMs           shares         `json:"ok_ms"`
	RefusedMs      shares         `json:"refused_ms"`
	OkBySecond     []int          `json:"ok_by_second"`
}

type shares struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

type ending struct {
	code    codes.Code
	retries bool
	second  int
	ms      float64
}

// offer sends calls at a rate, or, with -agents, from so many agents that wait for each answer, and prints a report.
// An agent that is refused waits as long as it was told (-patient), or asks again at once. Requests are sent in turn,
// whoever sends them: with one of its own for each agent, few agents would call in few sessions.
func offer(args []string) {
	flags := flag.NewFlagSet("offer", flag.ExitOnError)
	target := flags.String("target", "", "address, such as unix:/run/x.sock")
	method := flags.String("method", "", "full method, such as /package.Service/Method")
	payloads := flags.String("payloads", "", "files with encoded requests, separated by commas, sent in turn")
	token := flags.String("token", "", "bearer token")
	connections := flags.Int("connections", 8, "connections")
	rate := flags.Float64("rate", 100, "calls a second")
	agents := flags.Int("agents", 0, "instead of a rate: so many agents, each waiting for its answer")
	patient := flags.Bool("patient", false, "agents wait as long as a refusal says")
	seconds := flags.Float64("seconds", 5, "how long")
	most := flags.Int("outstanding", 30000, "calls under way at once; more are not sent, and counted")
	_ = flags.Parse(args)
	one := &offering{method: *method, seconds: *seconds, most: int64(*most), clients: dial(*target, *connections)}
	for _, path := range strings.Split(*payloads, ",") {
		one.requests = append(one.requests, read(path))
	}
	one.context = context.Background()
	if *token != "" {
		one.context = metadata.AppendToOutgoingContext(one.context, "authorization", "Bearer "+*token)
	}
	for i, client := range one.clients { // connected before the clock starts
		one.call(client, i)
	}
	one.began = time.Now()
	if *agents > 0 {
		one.byAgents(*agents, *patient)
	} else {
		one.atRate(*rate)
	}
	one.waiting.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(one.report()); err != nil {
		fail(err.Error())
	}
}

type offering struct {
	method   string
	seconds  float64
	most     int64
	context  context.Context
	clients  []*grpc.ClientConn
	requests [][]byte
	began    time.Time
	offered  int
	unsent   int
	under    atomic.Int64
	waiting  sync.WaitGroup
	lock     sync.Mutex
	endings  []ending
}

func (o *offering) atRate(rate float64) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for range ticker.C {
		elapsed := time.Since(o.began).Seconds()
		if elapsed >= o.seconds {
			return
		}
		for o.offered < int(elapsed*rate) {
			o.offered++
			if o.under.Load() >= o.most {
				o.unsent++
				continue
			}
			number := o.offered
			o.under.Add(1)
			o.waiting.Add(1)
			go func() {
				defer o.waiting.Done()
				o.keep(o.call(o.clients[number%len(o.clients)], number))
				o.under.Add(-1)
			}()
		}
	}
}

func (o *offering) byAgents(agents int, patient bool) {
	var made atomic.Int64
	for agent := range agents {
		o.waiting.Add(1)
		go func() {
			defer o.waiting.Done()
			for time.Since(o.began).Seconds() < o.seconds {
				found, pause := o.call(o.clients[agent%len(o.clients)], int(made.Add(1)))
				o.keep(found, pause)
				if patient && pause > 0 {
					time.Sleep(pause)
				}
			}
		}()
	}
	o.waiting.Wait()
	o.offered = int(made.Load())
}

func (o *offering) call(client *grpc.ClientConn, number int) (ending, time.Duration) {
	ctx, cancel := context.WithTimeout(o.context, 20*time.Second)
	defer cancel()
	var answer []byte
	start := time.Now()
	err := client.Invoke(ctx, o.method, &o.requests[number%len(o.requests)], &answer)
	now := time.Now()
	found := ending{code: status.Code(err), second: int(now.Sub(o.began).Seconds()), ms: now.Sub(start).Seconds() * 1000}
	if found.code != codes.ResourceExhausted {
		return found, 0
	}
	for _, detail := range status.Convert(err).Details() {
		if retry, is := detail.(*errdetails.RetryInfo); is {
			found.retries = true
			return found, retry.RetryDelay.AsDuration()
		}
	}
	return found, 0
}

func (o *offering) keep(found ending, _ time.Duration) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.endings = append(o.endings, found)
}

func (o *offering) report() offered {
	result := offered{Offered: o.offered, Unsent: o.unsent, Others: map[string]int{}, Seconds: o.seconds,
		OkBySecond: make([]int, int(o.seconds+0.999))}
	var ok, refused []float64
	for _, one := range o.endings {
		switch one.code {
		case codes.OK:
			ok = append(ok, one.ms)
			if one.second < len(result.OkBySecond) {
				result.OkBySecond[one.second]++
			}
		case codes.ResourceExhausted:
			refused = append(refused, one.ms)
			if !one.retries {
				result.RefusedNoRetry++
			}
		default:
			result.Others[one.code.String()]++
		}
	}
	within := 0
	for _, count := range result.OkBySecond {
		within += count
	}
	result.Ok, result.Refused = len(ok), len(refused)
	result.OkPerSecond = float64(within) / o.seconds
	result.OkMs, result.RefusedMs = sharesOf(ok), sharesOf(refused)
	return result
}

func sharesOf(all []float64) shares {
	if len(all) == 0 {
		return shares{}
	}
	sort.Float64s(all)
	at := func(share float64) float64 { return all[min(len(all)-1, int(share*float64(len(all))))] }
	return shares{P50: at(0.5), P99: at(0.99), Max: all[len(all)-1]}
}
