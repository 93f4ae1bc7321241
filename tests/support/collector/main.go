// The OTLP receiver of the OpenTelemetry collector, alone: it listens at the address given, or at a free port
// of this machine, which it says, and writes each batch of spans that it takes as a line of JSON.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func freeAddress() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	defer listener.Close()
	return listener.Addr().String()
}

func writeLine(_ context.Context, spans ptrace.Traces) error {
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(spans)
	if err == nil {
		_, err = os.Stdout.Write(append(text, '\n'))
	}
	return err
}

func main() {
	var address string
	if len(os.Args) > 1 {
		address = os.Args[1]
	} else {
		address = freeAddress()
	}
	ctx := context.Background()
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	must(confmap.NewFromStringMap(map[string]any{
		"protocols": map[string]any{"http": map[string]any{"endpoint": address}},
	}).Unmarshal(config))
	lines, err := consumer.NewTraces(writeLine)
	must(err)
	receiver, err := factory.CreateTraces(ctx, receivertest.NewNopSettings(factory.Type()), config, lines)
	must(err)
	must(receiver.Start(ctx, componenttest.NewNopHost()))
	fmt.Fprintln(os.Stderr, "listening at", address)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	<-stop
	must(receiver.Shutdown(ctx))
}
