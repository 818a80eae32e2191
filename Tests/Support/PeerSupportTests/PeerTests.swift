// SPDX-License-Identifier: Apache-2.0

import Glibc
import PeerSupport
import Testing

/// Tests that the servers of other projects start, respond and stop.
@Suite("Peers", .timeLimit(.minutes(15)))
struct PeerTests {
  private func get(_ target: String, host: String = "localhost") -> String {
    "GET \(target) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
  }

  @Test("nginx responds on every listener, and is gone after stop")
  func nginx() async throws {
    let nginx = try await NginxPeer.start()
    let json = try Loopback.exchange(port: nginx.ports.plain, sending: get("/json"))
    #expect(json.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(json.hasSuffix(#"{"message":"hello"}"#))
    let all = nginx.ports
    for port in [all.plain, all.h2c, all.tls, all.tlsHTTP1, all.clientCertificate, all.obsoleteTLS] {
      #expect(Loopback.accepts(port: port))
    }
    #expect(access(nginx.socketPath, F_OK) == 0)
    nginx.stop()
    #expect(!Loopback.accepts(port: nginx.ports.plain))
  }

  @Test("The TLS listeners accept the intended clients")
  func handshakes() async throws {
    let nginx = try await NginxPeer.start()
    let squid = try await SquidPeer.start()
    let certificates = nginx.certificates
    try await certificates.handshake(port: nginx.ports.tls, "-alpn", "h2", "-tls1_3")
    try await certificates.handshake(port: nginx.ports.tlsHTTP1, "-tls1_2")
    try await certificates.handshake(
      port: nginx.ports.clientCertificate, "-cert", certificates.client, "-key", certificates.clientKey, "-tls1_2")
    try await certificates.handshake(port: nginx.ports.obsoleteTLS, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
    try await squid.certificates.handshake(port: squid.tlsPort)
    await #expect(throws: PeerError.self) {
      try await certificates.handshake(port: nginx.ports.tls, roots: certificates.stranger)
    }
    await #expect(throws: PeerError.self) {
      try await certificates.handshake(port: nginx.ports.obsoleteTLS, "-tls1_2")
    }
  }

  @Test("Every announced status is the status that nginx sends")
  func nginxStatuses() async throws {
    let nginx = try await NginxPeer.start()
    for status in NginxConfiguration.statuses {
      let answer = try Loopback.exchange(port: nginx.ports.plain, sending: get("/status/\(status)"))
      #expect(answer.hasPrefix("HTTP/1.1 \(status)"), "\(status)")
    }
  }

  @Test("nginx serves files of the announced sizes, text compressed on request, and chains of redirects")
  func nginxContent() async throws {
    let nginx = try await NginxPeer.start()
    let port = nginx.ports.plain
    for (name, bytes) in NginxConfiguration.sizes where bytes <= 1024 * 1024 {
      let answer = try Loopback.exchange(port: port, sending: Array(get("/files/\(name)").utf8), limit: 1 << 22)
      let head = String(decoding: answer.prefix(1024), as: UTF8.self)
      #expect(head.contains("Content-Length: \(bytes)\r\n"), "\(name)")
    }
    let text = "GET /text HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"
    #expect(try Loopback.exchange(port: port, sending: text).contains("Content-Encoding: gzip\r\n"))
    let redirect = try Loopback.exchange(port: port, sending: get("/redirect/25"))
    #expect(redirect.contains("Location: http://localhost:\(port)/redirect/24\r\n"))
    #expect(try Loopback.exchange(port: port, sending: get("/basic")).hasPrefix("HTTP/1.1 401 "))
    let put = "PUT /upload/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
    #expect(try Loopback.exchange(port: port, sending: put).hasPrefix("HTTP/1.1 201 "))
    #expect(nginx.uploaded("x") == "hello")
    let post = "POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
    #expect(try Loopback.exchange(port: port, sending: post).hasSuffix("\r\n\r\n5"))
    #expect(nginx.accessLog().contains { $0.hasSuffix("PUT /upload/x HTTP/1.1 201 \(put.utf8.count)") })
  }

  @Test("squid forwards, rejects unknown users and forbidden targets, and is gone after stop")
  func squid() async throws {
    let nginx = try await NginxPeer.start()
    let squid = try await SquidPeer.start()
    let request = get("http://127.0.0.1:\(nginx.ports.plain)/json", host: "127.0.0.1:\(nginx.ports.plain)")
    #expect(try Loopback.exchange(port: squid.port, sending: request).hasPrefix("HTTP/1.1 200 "))
    #expect(try Loopback.exchange(port: squid.authenticatedPort, sending: request).hasPrefix("HTTP/1.1 407 "))
    let known = request.replacing(
      "Connection: close\r\n", with: "Connection: close\r\nProxy-Authorization: Basic bGFzdHJvOnNlY3JldA==\r\n")
    #expect(try Loopback.exchange(port: squid.authenticatedPort, sending: known).hasPrefix("HTTP/1.1 200 "))
    let refused = get("http://refused.test/", host: "refused.test")
    #expect(try Loopback.exchange(port: squid.port, sending: refused).hasPrefix("HTTP/1.1 403 "))
    #expect(Loopback.accepts(port: squid.tlsPort))
    squid.stop()
    #expect(!Loopback.accepts(port: squid.port))
  }

  @Test("dante forwards a SOCKS 5 connection, and is gone after stop", .needsDante)
  func dante() async throws {
    let nginx = try await NginxPeer.start()
    let dante = try await DantePeer.start()
    let port = nginx.ports.plain
    // The greeting and CONNECT (RFC 1928 §3, §4) are sent together, followed by the HTTP request.
    let greeting: [UInt8] = [5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, UInt8(port >> 8), UInt8(port & 0xFF)]
    let answer = try Loopback.exchange(port: dante.port, sending: greeting + Array(get("/json").utf8))
    #expect(answer.prefix(4) == [5, 0, 5, 0])
    #expect(String(decoding: answer, as: UTF8.self).hasSuffix(#"{"message":"hello"}"#))
    dante.stop()
    #expect(!Loopback.accepts(port: dante.port))
  }

  @Test("The third-party servers all start, and are gone after stop")
  func sites() async throws {
    let sites = try await PeerSite.startAll()
    #expect(sites.count == PeerSite.Server.installed.count)
    for (server, site) in sites {
      for port in site.ports { #expect(Loopback.accepts(port: port), "\(server)") }
    }
    for site in sites.values { site.stop() }
    for (server, site) in sites {
      for port in site.ports { #expect(!Loopback.accepts(port: port), "\(server)") }
    }
  }

  @Test("The Python server reports what it received, and is gone after stop")
  func python() async throws {
    let python = try await PythonPeer.start()
    let echo = "POST /echo?q HTTP/1.1\r\nHost: a\r\nX-Test: b\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
    let answer = try Loopback.exchange(port: python.port, sending: echo)
    #expect(answer.contains(#""method": "POST", "target": "/echo?q""#))
    #expect(answer.contains(#"["X-Test", "b"]"#))
    #expect(answer.contains(#""body_base64": "aGk=""#))
    _ = try Loopback.exchange(port: python.port, sending: get("/count/x"))
    #expect(try Loopback.exchange(port: python.port, sending: get("/count/x")).hasSuffix(#"{"count": 2}"#))
    python.stop()
    #expect(!Loopback.accepts(port: python.port))
  }
}
