// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// arguments are the key=value pairs that all benchmark programs share.
type arguments struct {
	scenario    string
	url         string
	url2        string
	ca          string
	file        string
	concurrency int
	requests    int
	warmup      int
	size        int64
	http        int
	connections int
	hosts       int
}

func parseArguments(words []string) (arguments, error) {
	parsed := arguments{concurrency: 1, requests: 1, warmup: -1, http: 1, hosts: 1000}
	if len(words) == 0 {
		return parsed, fmt.Errorf("usage: go-bench SCENARIO key=value …")
	}
	parsed.scenario = words[0]
	texts := map[string]*string{"url": &parsed.url, "url2": &parsed.url2, "ca": &parsed.ca, "file": &parsed.file}
	numbers := map[string]*int{
		"concurrency": &parsed.concurrency, "requests": &parsed.requests, "warmup": &parsed.warmup, "http": &parsed.http,
		"connections": &parsed.connections, "hosts": &parsed.hosts,
	}
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		var err error
		if text, found := texts[key]; found {
			*text = value
		} else if number, found := numbers[key]; found {
			*number, err = strconv.Atoi(value)
		} else if key == "size" {
			parsed.size, err = strconv.ParseInt(value, 10, 64)
		} else {
			err = fmt.Errorf("unknown here")
		}
		if err != nil {
			return parsed, fmt.Errorf("%s: %w", word, err)
		}
	}
	if parsed.url == "" || parsed.concurrency < 1 || parsed.requests < 1 || parsed.hosts < 1 ||
		parsed.http < 1 || parsed.http > 2 {
		return parsed, fmt.Errorf("url= is missing, or concurrency=, requests=, http= or hosts= is out of range")
	}
	if parsed.warmup < 0 {
		parsed.warmup = 200
		if parsed.scenario == "download" || parsed.scenario == "upload" {
			parsed.warmup = 1
		} else if parsed.concurrency > parsed.warmup {
			parsed.warmup = parsed.concurrency
		}
	}
	return parsed, nil
}
