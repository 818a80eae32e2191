// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
)

const chunk = 64 << 10

var scenarios = map[string]func(*client, arguments, *result) error{
	"fetch":      fetches,
	"handshakes": fetches,
	"json":       decodes,
	"download":   downloads,
	"upload":     uploads,
	"idle":       idle,
	"cancel":     cancels,
}

// repeated does the warm-up, then the same work measured.
func repeated(given arguments, r *result, work func() error) error {
	each := func(int) error { return work() }
	if err := repeat(given.warmup, given.concurrency, each); err != nil {
		return err
	}
	return r.measure(func() (int64, error) {
		return int64(given.requests) * given.size, repeat(given.requests, given.concurrency, each)
	})
}

func fetches(c *client, given arguments, r *result) error {
	return repeated(given, r, func() error { return c.fetch(given.url, given.size) })
}

type person struct {
	ID     int      `json:"id"`
	Name   string   `json:"name"`
	Email  string   `json:"email"`
	Score  float64  `json:"score"`
	Active bool     `json:"active"`
	Tags   []string `json:"tags"`
}

func decodes(c *client, given arguments, r *result) error {
	return repeated(given, r, func() error {
		return c.get(given.url, func(response *http.Response) error {
			body, err := collect(response)
			if err != nil {
				return err
			}
			if int64(len(body)) != given.size {
				return fmt.Errorf("%d bytes came instead of %d", len(body), given.size)
			}
			var people []person
			if err := json.Unmarshal(body, &people); err != nil {
				return err
			}
			if len(people) == 0 {
				return errors.New("nobody in the document")
			}
			return nil
		})
	})
}

func downloads(c *client, given arguments, r *result) error {
	return repeated(given, r, func() error {
		return c.get(given.url, func(response *http.Response) error {
			count, err := consume(response.Body, given.file)
			if err == nil && count != given.size {
				err = fmt.Errorf("%d bytes came instead of %d", count, given.size)
			}
			return err
		})
	})
}

// plain hides that files can read from sockets themselves: the body is to go through the program, chunk by chunk.
type plain struct{ io.Writer }

func consume(body io.Reader, path string) (int64, error) {
	target := io.Discard
	if path != "" {
		file, err := os.Create(path)
		if err != nil {
			return 0, err
		}
		defer file.Close()
		target = file
	}
	return io.CopyBuffer(plain{target}, body, make([]byte, chunk))
}

// zeros is a source of so many bytes.
type zeros struct{ left int64 }

func (z *zeros) Read(data []byte) (int, error) {
	if z.left == 0 {
		return 0, io.EOF
	}
	if len(data) > chunk {
		data = data[:chunk]
	}
	if int64(len(data)) > z.left {
		data = data[:z.left]
	}
	for index := range data {
		data[index] = 0
	}
	z.left -= int64(len(data))
	return len(data), nil
}

func uploads(c *client, given arguments, r *result) error {
	return repeated(given, r, func() error {
		source := &zeros{given.size}
		request, err := http.NewRequest("POST", given.url, source)
		if err != nil {
			return err
		}
		request.ContentLength = given.size
		response, err := c.http.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode/100 != 2 || source.left != 0 {
			return fmt.Errorf("status %d, %d bytes not sent", response.StatusCode, source.left)
		}
		_, err = io.Copy(io.Discard, response.Body)
		return err
	})
}

// openIdle makes all connections to one address at the same time: one that is free would be used again.
func openIdle(c *client, given arguments) error {
	for host := 0; host < given.hosts && host < given.connections; host++ {
		address := fmt.Sprintf("127.1.%d.%d", host/250, host%250+1)
		url := strings.ReplaceAll(given.url, "{n}", address)
		count := given.connections / given.hosts
		if host < given.connections%given.hosts {
			count++
		}
		if err := holdTogether(c, url, count, given.size); err != nil {
			return err
		}
	}
	return nil
}

// holdTogether reads no body before all requests have their answers.
func holdTogether(c *client, url string, count int, size int64) error {
	var answered sync.WaitGroup
	answered.Add(count)
	return repeat(count, count, func(int) error {
		held := false
		defer func() {
			if !held {
				answered.Done()
			}
		}()
		return c.get(url, func(response *http.Response) error {
			held = true
			answered.Done()
			answered.Wait()
			body, err := collect(response)
			if err == nil && int64(len(body)) != size {
				err = fmt.Errorf("%d bytes came instead of %d", len(body), size)
			}
			return err
		})
	})
}

func openSockets() (int, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	count := 0
	for _, entry := range entries {
		// The descriptor that read the folder is gone by now.
		if target, err := os.Readlink("/proc/self/fd/" + entry.Name()); err == nil && strings.HasPrefix(target, "socket:") {
			count++
		}
	}
	return count, err
}

func idle(c *client, given arguments, r *result) error {
	if given.url2 == "" || given.connections == 0 {
		return errors.New("idle needs url2= and connections=")
	}
	if err := openIdle(c, given); err != nil {
		return err
	}
	if err := repeated(given, r, func() error { return c.fetch(given.url2, given.size) }); err != nil {
		return err
	}
	count, err := openSockets()
	if err == nil && count < given.connections {
		err = fmt.Errorf("%d sockets are open, not %d", count, given.connections)
	}
	return err
}

func cancels(c *client, given arguments, r *result) error {
	var sent, ended sync.WaitGroup
	sent.Add(given.requests)
	ended.Add(given.requests)
	// Before a request is sent only an error can end it, and there is none to wait for after it.
	failures := make(chan error, given.requests)
	cancelled, cancel := context.WithCancel(context.Background())
	trace := &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent.Done() }}
	for number := 0; number < given.requests; number++ {
		request, err := http.NewRequestWithContext(httptrace.WithClientTrace(cancelled, trace), "GET", given.url, nil)
		if err != nil {
			cancel()
			return err
		}
		go func() {
			defer ended.Done()
			response, err := c.http.Do(request)
			if err == nil {
				response.Body.Close()
				err = errors.New("a request was answered")
			}
			if !errors.Is(err, context.Canceled) {
				failures <- err
			}
		}()
	}
	all := make(chan struct{})
	go func() { sent.Wait(); close(all) }()
	select {
	case <-all:
	case err := <-failures:
		cancel()
		return err
	}
	if err := r.measure(func() (int64, error) { cancel(); ended.Wait(); return 0, nil }); err != nil {
		return err
	}
	select {
	case err := <-failures:
		return err
	default:
		return c.fetch(given.url2, given.size)
	}
}
