// SPDX-License-Identifier: Apache-2.0

import Lastro
package import LastroTesting

/// A Gemini server on 127.0.0.1 that responds through a closure, over TLS with a replaceable certificate.
///
/// ```swift
/// let server = try LoopbackGeminiServer(identity: CertificateMint.selfSigned(hosts: ["localhost"])) { request in
///   request.hasSuffix("/") ? .success("# Hello") : .header(51, "no such page")
/// }
/// let response = try await client.fetch(server.url("/")).collected()
/// ```
///
/// Dropping the server stops it.
package final class LoopbackGeminiServer: Sendable {
  private let server: LoopbackServer
  private let seen: EventRecorder<(line: String, client: String?)>

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - identity: the certificate and its key.
  ///   - clientAuthoritiesPEM: requires a client certificate issued by one of these authorities; a self-signed one is
  ///     its own authority. Default `nil`: none is requested.
  ///   - answer: returns the response to a request line, which has no line end.
  /// - Throws: `LoopbackError`.
  package init(
    identity: MintedCertificate, clientAuthoritiesPEM: String? = nil,
    answer: @escaping @Sendable (String) -> LoopbackGeminiAnswer
  ) throws(LoopbackError) {
    let seen = EventRecorder<(line: String, client: String?)>()
    self.seen = seen
    server = try LoopbackServer(tls: Self.tls(identity, clientAuthoritiesPEM)) { connection in
      guard let line = connection.readLine() else { return }
      seen.record((line, connection.clientName))
      let answer = answer(line)
      var rest = answer.bytes[...]
      while !rest.isEmpty {
        let piece = rest.prefix(max(1, answer.pieceBytes))
        try connection.write(piece)
        rest = rest.dropFirst(piece.count)
      }
      switch answer.end {
      case .close: connection.close()
      case .truncate: connection.closeWithoutNotify()
      case .reset: connection.reset()
      case .stall: connection.stall()
      }
    }
  }

  /// The port.
  package var port: Int { server.port }
  /// The request lines received so far, in order.
  package var requests: [String] { seen.events.map(\.line) }
  /// The common names of the client certificates of those requests.
  package var clients: [String?] { seen.events.map(\.client) }
  /// The number of connections accepted so far.
  package var acceptedConnections: Int { server.acceptedConnections }
  /// The number of open connections.
  package var openConnections: Int { server.openConnections }

  /// Returns a URL of this server; its host is `localhost`.
  package func url(_ path: String = "/") -> String { "gemini://localhost:\(port)\(path)" }

  /// Presents another certificate from the next connection on.
  ///
  /// - Throws: `LoopbackError.invalidTLS(_:)`; the server then keeps its certificate.
  package func show(_ identity: MintedCertificate, clientAuthoritiesPEM: String? = nil) throws(LoopbackError) {
    try server.replaceTLS(Self.tls(identity, clientAuthoritiesPEM))
  }

  /// Stops the server.
  package func stop() { server.stop() }

  private static func tls(_ identity: MintedCertificate, _ clientAuthoritiesPEM: String?) -> LoopbackTLS {
    var tls = LoopbackTLS(identity)
    tls.clientAuthoritiesPEM = clientAuthoritiesPEM
    return tls
  }
}
