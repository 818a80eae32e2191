// SPDX-License-Identifier: Apache-2.0

// Command go-bench is Go's net/http among the benchmarks' clients.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
)

func main() {
	given, err := parseArguments(os.Args[1:])
	if err == nil {
		err = run(given)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "go:", err)
		os.Exit(1)
	}
}

func run(given arguments) error {
	scenario, found := scenarios[given.scenario]
	if !found {
		return fmt.Errorf("no scenario %s", given.scenario)
	}
	transport, err := newTransport(given)
	if err != nil {
		return err
	}
	outcome := result{Client: "go", Scenario: given.scenario, Requests: given.requests}
	if outcome.IdleRSSKiB, err = memoryKiB("VmRSS"); err != nil {
		return err
	}
	if err = scenario(&client{http.Client{Transport: transport}, given.http}, given, &outcome); err != nil {
		return err
	}
	if outcome.PeakRSSKiB, err = memoryKiB("VmHWM"); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(outcome)
}
