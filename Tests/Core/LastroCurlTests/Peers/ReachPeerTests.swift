// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("nginx: other routes", .peers(.nginx, .python), .timeLimit(.minutes(15)))
struct ReachPeerTests {
  @Test("A Unix socket is used with the URL's host in the Host field")
  func unixSocket() async throws {
    let path = try Peers.nginx.socketPath
    let stack = try CurlNetworkStack.direct { $0.connection.unixSocketPath = path }
    let answer = try await stack.send(.get, "http://service.test/echo")
    #expect(answer.text.split(separator: "\n").contains("service.test"))
    #expect(try await stack.send(.get, "http://service.test/connection").response.facts.connectionReused)
  }

  @Test("A missing Unix socket is a connect failure")
  func noUnixSocket() async throws {
    let stack = try CurlNetworkStack.direct { $0.connection.unixSocketPath = "/nonexistent/lastro.sock" }
    let error = try await failure { try await stack.send(.get, "http://service.test/") }
    #expect(error.words == "connect/connect_failed")
    #expect(error.attempts.map(\.requestSent) == [false])
  }

  @Test("A Unix socket of one request does not serve the next, which did not ask for it")
  func unixSocketForOne() async throws {
    let nginx = try Peers.nginx
    let stack = try CurlNetworkStack.direct()
    let url = "http://127.0.0.1:\(try Peers.python.port)/status/200"
    let options = RequestOptions.connection { $0.unixSocketPath = nginx.socketPath }
    #expect(try await stack.send(.get, url, options: options).response.headerFields[.server] == "nginx")
    let other = try await stack.send(.get, url)
    #expect(other.response.headerFields[.server]?.contains("Python") == true)
  }

  @Test("A fixed resolution reaches the given address, with the name in the Host field")
  func resolution() async throws {
    let port = try Peers.nginx.ports.plain
    let options = RequestOptions.connection {
      $0.resolutions = [.init(host: "api.lastro.test", port: port, addresses: ["127.0.0.1"])]
    }
    let stack = try CurlNetworkStack.direct()
    let answer = try await stack.send(.get, "http://api.lastro.test:\(port)/echo", options: options)
    #expect(answer.text.split(separator: "\n").contains("api.lastro.test:\(port)"))
    #expect(answer.response.facts.remoteAddress == "127.0.0.1")
    // The configured address applies to that request alone.
    let error = try await failure { try await stack.send(.get, "http://api.lastro.test:\(port)/echo") }
    #expect(error.words == "resolve/host_not_found")
  }

  @Test("A fixed resolution with several addresses fails over to the one that listens")
  func severalAddresses() async throws {
    let port = try Peers.nginx.ports.plain
    let options = RequestOptions.connection {
      $0.resolutions = [.init(host: "api.lastro.test", port: port, addresses: ["::1", "127.0.0.1"])]
    }
    let answer = try await CurlNetworkStack.direct().send(
      .get, "http://api.lastro.test:\(port)/json", options: options)
    #expect(answer.response.facts.remoteAddress == "127.0.0.1")
  }

  @Test("The server sees the configured local address", arguments: ["127.0.0.3", "host!127.0.0.3", "lo", "if!lo"])
  func localInterface(name: String) async throws {
    let port = try Peers.nginx.ports.plain
    let stack = try CurlNetworkStack.direct { $0.connection.localInterface = name }
    let answer = try await stack.send(.get, "http://127.0.0.1:\(port)/client")
    #expect(answer.text == (name.contains("127") ? "127.0.0.3" : "127.0.0.1"))
  }

  @Test("A missing network interface is a connect failure")
  func noInterface() async throws {
    let port = try Peers.nginx.ports.plain
    let stack = try CurlNetworkStack.direct { $0.connection.localInterface = "if!nonexistent0" }
    let error = try await failure { try await stack.send(.get, "http://127.0.0.1:\(port)/json") }
    #expect(error.stage == .connect)
  }

  @Test("A closed port is a connect failure; an unknown name is a resolve failure")
  func nobody() async throws {
    let stack = try CurlNetworkStack.direct()
    let port = try Loopback.freePort()
    let refused = try await failure { try await stack.send(.get, "http://127.0.0.1:\(port)/") }
    #expect(refused.words == "connect/connect_failed")
    #expect(refused.engineCode == 7)
    let unknown = try await failure { try await stack.send(.get, "http://nobody.invalid/") }
    #expect(unknown.words == "resolve/host_not_found")
    #expect(unknown.engineCode == 6)
    #expect((refused.attempts + unknown.attempts).map(\.requestSent) == [false, false])
  }

  @Test("HTTP sent to a TLS port, and TLS sent to an HTTP port, fail at the expected stage")
  func wrongProtocol() async throws {
    let ports = try Peers.nginx.ports
    let stack = try CurlNetworkStack.direct()
    let tls = try await failure { try await stack.send(.get, "https://127.0.0.1:\(ports.plain)/json") }
    #expect(tls.words == "tls/handshake_failed")
    // nginx answers 400 in the clear.
    let plain = try await failure { try await stack.send(.get, "http://127.0.0.1:\(ports.tlsHTTP1)/json") }
    #expect(plain.statusCode?.code == 400)
    // Newer versions of nginx also answer HTTP/1.1 on a port for HTTP/2 in the clear.
    let server = try LoopbackServer { connection in
      try connection.write(LoopbackHTTP2Frame.settings([]).bytes)
      _ = connection.readToEnd()
    }
    let h2c = try await failure { try await stack.send(.get, "http://127.0.0.1:\(server.port)/json") }
    #expect(h2c.words == "response/malformed_response")
  }
}
