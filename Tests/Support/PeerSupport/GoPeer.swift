// SPDX-License-Identifier: Apache-2.0

/// A server built with Go's `net/http`. It serves `localhost` over TLS, with HTTP/1.1 and HTTP/2.
///
/// | target | response |
/// |---|---|
/// | `POST /json` | the number of JSON values in the body; `encoding/json` reads 512 bytes first, then more |
/// | `POST /reads/N` | the number of bytes in the body, read N bytes at a time |
/// | `POST /limited` | 429, before the body is read |
/// | `/held` | `begun `, and after a request for `/release`, `done` |
package enum GoPeer {
  package static func start() async throws -> Peer {
    let go = try PeerProcess.find(["go"], package: "golang-go")
    // Built in a temporary directory with its own cache, so that no file of the user is read or written.
    let build = try PeerDirectory()
    let source = try build.write(program, to: "server.go")
    let environment = [
      "GO111MODULE=off", "GOFLAGS=", "GOTOOLCHAIN=local", "CGO_ENABLED=0", "GOCACHE=\(build.file("cache"))",
    ]
    try await PeerProcess.run(
      try PeerProcess.find(["env"], package: "coreutils"),
      environment + [go, "build", "-o", build.file("server"), source], in: build)
    let certificates = try await PeerCertificates()
    return try await Peer.start(certificates: certificates) { _, ports in
      PeerProcess.Launch(
        program: build.file("server"), arguments: ["\(ports[0])", certificates.server, certificates.serverKey])
    }
  }

  private static let program = #"""
    package main

    import (
    	"encoding/json"
    	"fmt"
    	"io"
    	"log"
    	"net/http"
    	"os"
    	"strconv"
    	"strings"
    )

    func main() {
    	release := make(chan struct{})
    	http.HandleFunc("/json", func(w http.ResponseWriter, r *http.Request) {
    		decoder, count := json.NewDecoder(r.Body), 0
    		for {
    			var value map[string]any
    			err := decoder.Decode(&value)
    			if err == io.EOF {
    				break
    			}
    			if err != nil {
    				http.Error(w, err.Error(), http.StatusBadRequest)
    				return
    			}
    			count++
    		}
    		fmt.Fprint(w, count)
    	})
    	http.HandleFunc("/reads/", func(w http.ResponseWriter, r *http.Request) {
    		size, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/reads/"))
    		if err != nil || size < 1 {
    			http.Error(w, "no size", http.StatusBadRequest)
    			return
    		}
    		piece, total := make([]byte, size), 0
    		for {
    			count, err := r.Body.Read(piece)
    			total += count
    			if err == io.EOF {
    				break
    			}
    			if err != nil {
    				http.Error(w, err.Error(), http.StatusBadRequest)
    				return
    			}
    		}
    		fmt.Fprint(w, total)
    	})
    	http.HandleFunc("/limited", func(w http.ResponseWriter, r *http.Request) {
    		http.Error(w, "slow down", http.StatusTooManyRequests)
    	})
    	http.HandleFunc("/held", func(w http.ResponseWriter, r *http.Request) {
    		fmt.Fprint(w, "begun ")
    		w.(http.Flusher).Flush()
    		<-release
    		fmt.Fprint(w, "done")
    	})
    	http.HandleFunc("/release", func(w http.ResponseWriter, r *http.Request) {
    		close(release)
    	})
    	log.Fatal(http.ListenAndServeTLS("127.0.0.1:"+os.Args[1], os.Args[2], os.Args[3], nil))
    }
    """#
}
