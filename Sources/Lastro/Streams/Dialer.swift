// SPDX-License-Identifier: Apache-2.0

/// Opens streams to hosts: straight, through a proxy, or through another dialer. The seam between protocols (WebSocket,
/// Gemini, connections) and whatever carries their bytes.
///
/// A dialer that wraps a dialer is a tunnel. Any thread may call it.
///
/// ```swift
/// let stream = try await dialer.dial(DialRequest(host: "echo.example.org", port: 7, tls: .init()))
/// try await stream.write(Data("hello".utf8), within: .seconds(5))
/// ```
public protocol Dialer: Sendable {
  /// Opens a stream.
  ///
  /// Returns when the stream can carry bytes: connected, through the proxies, TLS agreed on and the server's
  /// certificate accepted where TLS is asked for. Cancelling the task gives the attempt up, at once.
  ///
  /// - Throws: ``TransportError``, with ``TransportError/systemCode`` where the system gave a reason.
  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream

  /// Opens a stream of datagrams (UDP), without TLS.
  ///
  /// - Throws: ``TransportError``; stage `request`, code `unsupported`, from dialers that carry bytes only.
  func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream

  /// Refuses a host that must not be talked to without TLS, because its key is pinned. A dialer that wraps another asks
  /// that one before it hands plain bytes on to a host.
  ///
  /// HTTP asks before every request, on the thread of an event loop: it must not block.
  ///
  /// - Throws: ``TransportError``, stage `trust`, code `plaintext_refused`.
  func checkPlaintext(_ request: DialRequest) throws(TransportError)

  /// Names the trust rules that a stream dialed now would be held to. When they change, pooled streams carry no further
  /// request. Default: the revision of the request's own judge; a dialer around another hands the question on.
  ///
  /// HTTP asks before every request, on the thread of an event loop: it must not block.
  func trustRevisions(for request: DialRequest) -> [UInt64]
}

extension Dialer {
  /// Refuses: this dialer carries bytes only.
  ///
  /// - Throws: ``TransportError``, always: stage `request`, code `unsupported`.
  public func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream {
    throw .refused(.unsupported, "\(Self.self) carries no datagrams", hint: "dial UDP without a tunnel")
  }

  /// The default: plain bytes may go to any host.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) {}

  /// The default: the revision of the request's own judge.
  public func trustRevisions(for request: DialRequest) -> [UInt64] {
    request.connection?.tls.trustJudge.map { [$0.revision] } ?? []
  }
}

/// The host that a ``Dialer`` shall connect to, and the way to connect.
public struct DialRequest: Sendable {
  /// A check of the server's certificate.
  public enum CertificateCheck: Sendable {
    /// The checks of a fetch: chain to a trusted root, host name, then the judges of the dialer and of ``connection``.
    case standard
    /// By this judge alone: chain and host name are not checked, and `ServerTrust.chain` is what the server presented.
    /// For trust on first use. A judge that the dialer has by default is asked in addition, about the leaf only.
    case judged(by: any ServerTrustJudge)
  }

  /// TLS of a stream.
  public struct TLS: Sendable {
    /// Name to send (SNI) and to check the certificate for. Default `nil`: the host that is dialed.
    public var serverName: String?
    /// Protocols to offer (ALPN), best first. Default none.
    public var applicationProtocols: [String]
    /// Default ``CertificateCheck/standard``.
    public var certificates: CertificateCheck

    /// Makes TLS for a stream.
    public init(
      serverName: String? = nil, applicationProtocols: [String] = [], certificates: CertificateCheck = .standard
    ) {
      self.serverName = serverName
      self.applicationProtocols = applicationProtocols
      self.certificates = certificates
    }
  }

  /// Name or address of the host; IPv6 without brackets.
  public var host: String
  /// Port, 1 to 65,535.
  public var port: Int
  /// Default `nil`: no TLS.
  public var tls: TLS?
  /// Whether the host is the server, or a proxy on the way: pins of a policy for servers do not bind a proxy.
  public var role: ServerTrust.Role
  /// The options of the connection; the dialer's own where `nil`. Properties that concern HTTP alone are ignored.
  public var connection: ConnectionOptions?
  /// Limit for all of it, TLS included. Default 10 s; `nil` for none. Fails with code `connect_timeout`.
  public var connectTimeout: Duration?

  /// Makes a request to dial.
  public init(
    host: String, port: Int, tls: TLS? = nil, role: ServerTrust.Role = .server, connection: ConnectionOptions? = nil,
    connectTimeout: Duration? = .seconds(10)
  ) {
    self.host = host
    self.port = port
    self.tls = tls
    self.role = role
    self.connection = connection
    self.connectTimeout = connectTimeout
  }
}
