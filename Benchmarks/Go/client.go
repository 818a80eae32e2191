// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
)

// newTransport is net/http's for many requests to few hosts: as many idle connections as there may be.
func newTransport(given arguments) (*http.Transport, error) {
	transport := &http.Transport{
		MaxIdleConns:        0,
		MaxIdleConnsPerHost: 20000,
		DisableCompression:  true,
		TLSClientConfig:     &tls.Config{},
		ForceAttemptHTTP2:   given.http == 2,
		DisableKeepAlives:   given.scenario == "handshakes",
	}
	if given.scenario == "download" || given.scenario == "upload" {
		transport.ReadBufferSize, transport.WriteBufferSize = chunk, chunk
	}
	if given.http == 1 {
		// An empty map keeps the transport from speaking HTTP/2 over TLS.
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	if given.ca != "" {
		pem, err := os.ReadFile(given.ca)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s holds no certificate", given.ca)
		}
	}
	return transport, nil
}

// client does the requests of all scenarios.
type client struct {
	http  http.Client
	major int
}

// get gives the answer to `use` and then closes it. The answer is a 200 over the version asked for.
func (c *client) get(url string, use func(*http.Response) error) error {
	response, err := c.http.Get(url)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != 200 || response.ProtoMajor != c.major {
		return fmt.Errorf("status %d over %s", response.StatusCode, response.Proto)
	}
	return use(response)
}

// fetch collects a body of `size` bytes in memory.
func (c *client) fetch(url string, size int64) error {
	return c.get(url, func(response *http.Response) error {
		body, err := collect(response)
		if err == nil && int64(len(body)) != size {
			err = fmt.Errorf("%d bytes came instead of %d", len(body), size)
		}
		return err
	})
}

// collect makes room once where the server told the length; io.ReadAll would grow and copy.
func collect(response *http.Response) ([]byte, error) {
	if response.ContentLength < 0 {
		return io.ReadAll(response.Body)
	}
	body := make([]byte, response.ContentLength)
	_, err := io.ReadFull(response.Body, body)
	return body, err
}

// repeat keeps `concurrency` calls in flight until there were `count`. Returns the first error.
func repeat(count, concurrency int, work func(number int) error) error {
	var taken atomic.Int64
	var group sync.WaitGroup
	errors := make(chan error, concurrency)
	for worker := 0; worker < concurrency; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for number := int(taken.Add(1)) - 1; number < count; number = int(taken.Add(1)) - 1 {
				if err := work(number); err != nil {
					errors <- err
					return
				}
			}
		}()
	}
	group.Wait()
	close(errors)
	return <-errors
}
