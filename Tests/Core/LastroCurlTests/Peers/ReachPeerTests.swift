// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("nginx: other ways to reach it", .peers(.nginx, .python), .timeLimit(.minutes(5)))
struct ReachPeerTests {
  @Test("over a Unix socket, with the URL's host in Host")
  func unixSocket() async throws {
    let path = try Peers.nginx.socketPath
    let stack = try CurlNetworkStack.direct { $0.connection.unixSocketPath = path }
    let answer = try await stack.send(.get, "http://service.test/echo")
    #expect(answer.text.split(separator: "\n").contains("service.test"))
    #expect(try await stack.send(.get, "http://service.test/connection").response.facts.connectionReused)
  }

  @Test("a Unix socket that is not there is a failure to connect")
  func noUnixSocket() async throws {
    let stack = try CurlNetworkStack.direct { $0.connection.unixSocketPath = "/nonexistent/lastro.sock" }
    let error = try await failure { try await stack.send(.get, "http://service.test/") }
    #expect(error.words == "connect/connect_failed")
    #expect(error.attempts.map(\.requestSent) == [false])
  }

  @Test("a Unix socket for one request does not serve the next, which did not ask for it")
  func unixSocketForOne() async throws {
    let nginx = try Peers.nginx
    let stack = try CurlNetworkStack.direct()
    let url = "http://127.0.0.1:\(try Peers.python.port)/status/200"
    let options = RequestOptions.connection { $0.unixSocketPath = nginx.socketPath }
    #expect(try await stack.send(.get, url, options: options).response.headerFields[.server] == "nginx")
    let other = try await stack.send(.get, url)
    #expect(other.response.headerFields[.server]?.contains("Python") == true)
  }

  @Test("a name answered by hand reaches the address given, with the name in Host")
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

  @Test("an answered name with several addresses falls over to the one that listens")
  func severalAddresses() async throws {
    let port = try Peers.nginx.ports.plain
    let options = RequestOptions.connection {
      $0.resolutions = [.init(host: "api.lastro.test", port: port, addresses: ["::1", "127.0.0.1"])]
    }
    let answer = try await CurlNetworkStack.direct().send(
      .get, "http://api.lastro.test:\(port)/json", options: options)
    #expect(answer.response.facts.remoteAddress == "127.0.0.1")
  }

  @Test("a local address is the one the server sees", arguments: ["127.0.0.3", "host!127.0.0.3", "lo", "if!lo"])
  func localInterface(name: String) async throws {
    let port = try Peers.nginx.ports.plain
    let stack = try CurlNetworkStack.direct { $0.connection.localInterface = name }
    let answer = try await stack.send(.get, "http://127.0.0.1:\(port)/client")
    #expect(answer.text == (name.contains("127") ? "127.0.0.3" : "127.0.0.1"))
  }

  @Test("an interface that is not there is a failure to connect")
  func noInterface() async throws {
    let port = try Peers.nginx.ports.plain
    let stack = try CurlNetworkStack.direct { $0.connection.localInterface = "if!nonexistent0" }
    let error = try await failure { try await stack.send(.get, "http://127.0.0.1:\(port)/json") }
    #expect(error.stage == .connect)
  }

  @Test("nobody listening is a failure to connect; an unknown name one to resolve")
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

  @Test("HTTP spoken to a TLS port, and TLS spoken to an HTTP port, fail where they do")
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
