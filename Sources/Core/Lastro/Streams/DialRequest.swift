// SPDX-License-Identifier: Apache-2.0

/// A request to a ``Dialer``: the host, and the way to connect to it.
public struct DialRequest: Sendable {
  /// The TLS options of a stream.
  public struct TLS: Sendable {
    /// The name to send (SNI) and to check the certificate for. Default `nil`: the host that is dialed.
    public var serverName: String?
    /// The protocols to offer (ALPN), in order of preference. Default none.
    public var applicationProtocols: [String]
    /// A judge that checks the server's certificate alone, for trust on first use. Chain and host name are not checked,
    /// and `ServerTrust.chain` is the chain that the server presented. If the dialer has a default judge, it is also
    /// called, but only with the leaf.
    ///
    /// Default `nil`: the checks of a fetch, which are a chain to a trusted root, the host name, then the judges of the
    /// dialer and of ``DialRequest/connection``.
    public var soleJudge: (any ServerTrustJudge)?

    /// Creates TLS options for a stream.
    public init(
      serverName: String? = nil, applicationProtocols: [String] = [], soleJudge: (any ServerTrustJudge)? = nil
    ) {
      self.serverName = serverName
      self.applicationProtocols = applicationProtocols
      self.soleJudge = soleJudge
    }
  }

  /// The name or address of the host; IPv6 without brackets.
  public var host: String
  /// The port, 1 to 65,535.
  public var port: Int
  /// The TLS options. Default `nil`: no TLS.
  public var tls: TLS?
  /// The role of the host: the server, or a proxy. A proxy without a pinning policy is accepted even if servers need
  /// one.
  public var role: ServerTrust.Role
  /// The options of the connection; `nil` for the dialer's own. Properties that are only for HTTP are ignored.
  public var connection: ConnectionOptions?
  /// The time limit for the whole dial, including TLS. Default 10 s; `nil` for no limit. When it passes, code
  /// `connect_timeout` is thrown.
  public var connectTimeout: Duration?

  /// Creates a request to dial.
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
