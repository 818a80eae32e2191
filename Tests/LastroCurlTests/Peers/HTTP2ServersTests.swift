// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import PeerSupport
import TestSupport
import Testing

/// What servers of HTTP/2 do that is legal, and that libcurl alone takes badly.
@Suite(
  "HTTP/2 of nginx, haproxy, node, hypercorn, lighttpd", .peers(.nginx, .haproxy, .node, .hypercorn, .lighttpd),
  .timeLimit(.minutes(5)))
struct HTTP2ServersTests {
  enum Server: String, CaseIterable, Sendable {
    case nginx, haproxy, node, hypercorn

    func reach() throws -> (base: String, authority: String) {
      let (port, authority) =
        switch self {
        case .nginx: (try Peers.nginx.ports.tls, try Peers.nginx.certificates.authority)
        case .haproxy: (try Peers.haproxy.port, try Peers.haproxy.certificates.authority)
        case .node: (try Peers.node.port, try Peers.node.certificates.authority)
        case .hypercorn: (try Peers.hypercorn.port, try Peers.hypercorn.certificates.authority)
        }
      return ("https://localhost:\(port)", authority)
    }
  }

  private func stack(_ authority: String) throws -> CurlNetworkStack {
    // What hangs must fail, and soon enough to be seen.
    var configuration = StackConfiguration.patient
    configuration.timeouts = try Timeouts(connect: .seconds(60), attempt: nil, idle: .seconds(60), total: .seconds(120))
    return try .direct({ $0.connection.tls.roots = .file(authority) }, configuration: configuration)
  }

  @Test("an answer before the body was read reaches the caller, at least its status", arguments: Server.allCases)
  func early(_ server: Server) async throws {
    let (base, authority) = try server.reach()
    for size in [70_000, 3_000_000] {
      for status in [200, 401, 413] {
        let stack = try stack(authority)
        let url = "\(base)/early/\(status)"
        do throws(RawFailure) {
          let answer = try await stack.send(.post, url, body: .raw(pattern(size)))
          #expect(status == 200 && answer.text == "early", "\(server) \(status) \(size)")
          #expect(answer.response.facts.httpVersion == "2")
        } catch {
          // Where answer and RST_STREAM come in one TLS record, libcurl 7.88 keeps the status only.
          #expect(
            error.words == "http/unexpected_status" || error.words == "response/http2_failure",
            "\(server) \(status) \(size) \(error)")
          #expect(error.statusCode?.code == status, "\(server) \(size) \(error)")
        }
      }
    }
  }

  @Test("an idle connection that hypercorn ended with close_notify alone costs no request, not even a POST")
  func idleEnd() async throws {
    let peer = try Peers.hypercorn
    let stack = try stack(peer.certificates.authority)
    let url = "https://localhost:\(peer.port)/"
    let first = try await stack.send(.get, url)
    #expect(first.response.facts.httpVersion == "2")
    try await peer.endIdleConnections()
    let second = try await stack.send(.post, url, body: .raw("pay"))
    #expect(second.text == "fine")
    #expect(!second.response.facts.connectionReused)
    #expect(second.response.facts.resends == 0)
  }

  @Test("requests that meet lighttpd's GOAWAY are answered over another connection")
  func goAway() async throws {
    let peer = try Peers.lighttpd
    let stack = try stack(peer.certificates.authority)
    let url = "https://localhost:\(peer.port)/page"
    #expect(try await stack.send(.get, url).response.facts.httpVersion == "2")
    for _ in 0..<4 {
      try await withThrowingTaskGroup(of: String.self) { group in
        for _ in 0..<6 * LighttpdPeer.requests { group.addTask { try await stack.send(.get, url).text } }
        for try await text in group { #expect(text == "a line of text\n") }
      }
    }
  }
}
