// SPDX-License-Identifier: Apache-2.0

import Lastro
public import LastroTesting

/// What a ``LoopbackGeminiServer`` does about a request: legal answers, and illegal ones.
public struct LoopbackGeminiAnswer: Sendable {
  /// How the connection ends after the bytes.
  public enum End: Sendable, Hashable {
    /// TLS is closed in order (close_notify), then TCP.
    case close
    /// TCP is closed without close_notify: a truncation.
    case truncate
    /// A TCP reset.
    case reset
    /// Nothing more is said, until the client goes away.
    case stall
  }

  /// All that is sent, header and body.
  public var bytes: [UInt8]
  /// Bytes that are written at a time, each in a TLS record of its own; less than one is one. Default: all.
  public var pieceBytes = Int.max
  /// Default ``End/close``.
  public var end = End.close

  /// An answer of any bytes.
  public init(_ bytes: some Collection<UInt8>, pieceBytes: Int = .max, end: End = .close) {
    self.bytes = Array(bytes)
    self.pieceBytes = max(1, pieceBytes)
    self.end = end
  }

  /// An answer of any text; line ends are yours.
  public init(_ text: String, pieceBytes: Int = .max, end: End = .close) {
    self.init(Array(text.utf8), pieceBytes: pieceBytes, end: end)
  }

  /// `20 type` and a body.
  public static func success(_ body: some Collection<UInt8>, type: String = "text/gemini") -> Self {
    Self(Array("20 \(type)\r\n".utf8) + Array(body))
  }

  /// `20 type` and a body.
  public static func success(_ body: String, type: String = "text/gemini") -> Self {
    success(Array(body.utf8), type: type)
  }

  /// A header alone.
  public static func header(_ status: Int, _ meta: String = "") -> Self { Self("\(status) \(meta)\r\n") }

  /// Nothing at all, until the client goes away.
  public static let silence = Self("", end: .stall)

  /// The same answer, one byte at a time.
  public var byteByByte: Self { Self(bytes, pieceBytes: 1, end: end) }
}

/// A Gemini server on 127.0.0.1 that answers as a closure says, over TLS with a certificate that can be changed.
///
/// ```swift
/// let server = try LoopbackGeminiServer(identity: CertificateMint.selfSigned(hosts: ["localhost"])) { request in
///   request.hasSuffix("/") ? .success("# Hello") : .header(51, "no such page")
/// }
/// let response = try await client.fetchData(server.url("/"))
/// ```
///
/// Dropping it stops it.
public final class LoopbackGeminiServer: Sendable {
  private let server: LoopbackServer
  private let seen: EventRecorder<(line: String, client: String?)>

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - identity: certificate and key.
  ///   - clientAuthoritiesPEM: demands a client certificate that one of these authorities issued; a self-signed one is
  ///     its own. Default `nil`: none is asked for.
  ///   - answer: is given the request line without its end.
  /// - Throws: `LoopbackError`.
  public init(
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

  /// Its port.
  public var port: Int { server.port }
  /// Request lines that came, in order.
  public var requests: [String] { seen.events.map(\.line) }
  /// Common names of the client certificates that came with them.
  public var clients: [String?] { seen.events.map(\.client) }
  /// Connections accepted so far.
  public var acceptedConnections: Int { server.acceptedConnections }
  /// Connections open now.
  public var openConnections: Int { server.openConnections }

  /// A URL of this server; its host is `localhost`.
  public func url(_ path: String = "/") -> String { "gemini://localhost:\(port)\(path)" }

  /// Shows another certificate from the next connection on.
  ///
  /// - Throws: `LoopbackError.invalidTLS(_:)`; the server goes on as it was.
  public func show(_ identity: MintedCertificate, clientAuthoritiesPEM: String? = nil) throws(LoopbackError) {
    try server.replaceTLS(Self.tls(identity, clientAuthoritiesPEM))
  }

  /// Stops it.
  public func stop() { server.stop() }

  private static func tls(_ identity: MintedCertificate, _ clientAuthoritiesPEM: String?) -> LoopbackTLS {
    var tls = LoopbackTLS(identity)
    tls.clientAuthoritiesPEM = clientAuthoritiesPEM
    return tls
  }
}
