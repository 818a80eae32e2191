// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroTesting
import PeerSupport

/// What became of a case.
enum LimboOutcome: Equatable, Sendable, CustomStringConvertible {
  /// The request was answered.
  case accepted
  /// Stage and code, as `tls/untrusted_certificate`.
  case refused(String)
  /// OpenSSL cannot present it: nothing is proved.
  case notServed(String)

  var description: String {
    switch self {
    case .accepted: "accepted"
    case .refused(let code): "refused: \(code)"
    case .notServed(let reason): "not served: \(reason)"
    }
  }

  /// Whether it is what the case demands. A refusal must come from TLS: another one would prove nothing.
  func satisfies(_ expectation: LimboCase.Expectation) -> Bool {
    switch (self, expectation) {
    case (.accepted, .success): true
    case (.refused(let code), .failure): code.hasPrefix("tls/")
    default: false
    }
  }
}

extension LimboCase {
  /// Serves the case on this machine, asks for it with the case's roots and host, and tells what came of it.
  ///
  /// - Parameter adapt: changes the TLS options further.
  func fetched(
    by stack: CurlNetworkStack, adapting adapt: (inout TLSOptions) -> Void = { _ in }
  ) async throws -> LimboOutcome {
    guard let identity else { return .notServed("there is no key") }
    // An IPv6 address has no fixed answer to be resolved to: over a socket it needs none.
    let directory = host.contains(":") ? try PeerDirectory() : nil
    let endpoint = directory.map { LoopbackEndpoint.unixSocket(path: $0.file("limbo")) } ?? .ephemeral
    let server: LoopbackServer
    do {
      server = try LoopbackServer.http(endpoint, tls: LoopbackTLS(identity)) { _ in .text("fine") }
    } catch {
      return .notServed("\(error)")
    }
    defer { server.stop() }
    let options = RequestOptions.connection { connection in
      connection.tls.roots = .pem(Array(roots.utf8))
      adapt(&connection.tls)
      if let directory {
        connection.unixSocketPath = directory.file("limbo")
      } else {
        connection.resolutions = [.init(host: host, port: server.port, addresses: ["127.0.0.1"])]
      }
    }
    let authority = directory == nil ? "\(host):\(server.port)" : "[\(host)]"
    do {
      _ = try await stack.send(.get, "https://\(authority)/", options: options)
      return .accepted
    } catch {
      // A refusal after which the request arrived all the same would be none.
      return server.requests.isEmpty ? .refused(error.words) : .accepted
    }
  }
}
