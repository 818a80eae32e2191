// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import PeerSupport
import TestSupport
import Testing

@Suite("nginx: HTTP/2", .peers(.nginx), .timeLimit(.minutes(15)))
struct HTTP2PeerTests {
  private func stack(_ edit: (inout CurlConfiguration) -> Void = { _ in }) throws -> CurlNetworkStack {
    let authority = try Peers.nginx.certificates.authority
    return try .direct {
      $0.connection.tls.roots = .file(authority)
      edit(&$0)
    }
  }

  /// Sends many concurrent requests, and returns what nginx reports about each: the connection's number, its requests,
  /// the protocol.
  private func connections(
    _ count: Int, _ stack: CurlNetworkStack, url: String
  ) async throws -> (connections: Set<String>, protocols: Set<String>, versions: Set<String?>) {
    try await withThrowingTaskGroup(of: (String, String, String?).self) { group in
      for _ in 0..<count {
        group.addTask {
          let answer = try await stack.send(.get, url)
          let words = answer.text.split(separator: " ").map(String.init)
          return (words[0], words[2], answer.response.facts.httpVersion)
        }
      }
      var result: (Set<String>, Set<String>, Set<String?>) = ([], [], [])
      for try await (connection, spoken, version) in group {
        result.0.insert(connection)
        result.1.insert(spoken)
        result.2.insert(version)
      }
      return result
    }
  }

  @Test("Over TLS HTTP/2 is negotiated, and 200 concurrent requests share few connections")
  func multiplexing() async throws {
    let port = try Peers.nginx.ports.tls
    let seen = try await connections(200, stack(), url: "https://localhost:\(port)/connection")
    #expect(seen.protocols == ["HTTP/2.0"])
    #expect(seen.versions == ["2"])
    #expect(seen.connections.count <= 2, "\(seen.connections.count)")
  }

  @Test("With HTTP/1.1 selected the connection limit is respected")
  func http1ByChoice() async throws {
    let port = try Peers.nginx.ports.tls
    let stack = try stack {
      $0.connection.httpVersion = .http1
      $0.connectionsPerHost = 8
    }
    let seen = try await connections(200, stack, url: "https://localhost:\(port)/connection")
    #expect(seen.protocols == ["HTTP/1.1"])
    #expect(seen.versions == ["1.1"])
    #expect(seen.connections.count <= 8, "\(seen.connections.count)")
  }

  @Test("A server with HTTP/1.1 only is used over HTTP/1.1, even if HTTP/2 is preferred")
  func fallback() async throws {
    let port = try Peers.nginx.ports.tlsHTTP1
    for version in [ConnectionOptions.HTTPVersion.automatic, .http2] {
      let answer = try await stack { $0.connection.httpVersion = version }
        .send(.get, "https://localhost:\(port)/connection")
      #expect(answer.response.facts.httpVersion == "1.1")
    }
  }

  @Test("Without TLS HTTP/1.1 is the default, and HTTP/2 (h2c) an option")
  func clear() async throws {
    let ports = try Peers.nginx.ports
    let plain = try await stack().send(.get, "http://127.0.0.1:\(ports.plain)/connection")
    #expect(plain.response.facts.httpVersion == "1.1")
    let seen = try await connections(
      100, stack { $0.connection.httpVersion = .http2 }, url: "http://127.0.0.1:\(ports.h2c)/connection")
    #expect(seen.protocols == ["HTTP/2.0"])
    #expect(seen.versions == ["2"])
    #expect(seen.connections.count <= 2, "\(seen.connections.count)")
  }

  @Test("Bodies arrive byte for byte", arguments: ["0", "1", "1k", "1m", "11m"])
  func bodies(name: String) async throws {
    let size = try #require(NginxConfiguration.sizes.first { $0.name == name }?.bytes)
    var options = RequestOptions()
    options.maximumBodyBytes = 16 * 1024 * 1024
    let url = "https://localhost:\(try Peers.nginx.ports.tls)/files/\(name)"
    let answer = try await stack().send(.get, url, options: options)
    #expect(answer.response.facts.httpVersion == "2")
    #expect(sha256(answer.value) == sha256(pattern(size)))
  }

  @Test("gzip, statuses and HEAD behave as over HTTP/1.1")
  func asOverHTTP1() async throws {
    let stack = try stack()
    let base = "https://localhost:\(try Peers.nginx.ports.tls)"
    #expect(try await stack.send(.get, "\(base)/text").value.count == 64 * 1024)
    for status in [304, 404, 500] {
      let error = try await failure { try await stack.send(.get, "\(base)/status/\(status)") }
      #expect(error.statusCode?.code == status)
    }
    #expect(try await stack.send(.get, "\(base)/status/204").value.isEmpty)
    let head = try await stack.send(.head, "\(base)/files/1k")
    #expect(head.value.isEmpty)
    #expect(head.response.headerFields[.contentLength] == "1024")
    #expect(head.response.facts.connectionReused)
  }

  @Test("Cancelling one stream affects neither other streams nor the connection")
  func cancelOneStream() async throws {
    let stack = try stack()
    let base = "https://localhost:\(try Peers.nginx.ports.tls)"
    let slow = try await stack.stream(.raw(ResourceRequest(url: "\(base)/slow/1m")))
    let before = try await stack.send(.get, "\(base)/connection").text.split(separator: " ")[0]
    slow.value.cancel()
    let after = try await stack.send(.get, "\(base)/connection").text.split(separator: " ")[0]
    #expect(before == after)
  }

  @Test("An upload reaches nginx byte for byte")
  func upload() async throws {
    let nginx = try Peers.nginx
    let text = String(repeating: "ballast ", count: 200_000)
    let url = "https://localhost:\(nginx.ports.tls)/upload/http2"
    let answer = try await stack().send(.put, url, body: .raw(text))
    #expect(answer.response.facts.httpVersion == "2")
    #expect(nginx.uploaded("http2") == text)
  }
}
