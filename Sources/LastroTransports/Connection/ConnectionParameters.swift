// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport
public import Logging

/// How a connection is to be made: stream or datagrams, TLS, the protocols of the application; Network framework's
/// `NWParameters`.
///
/// A class, so that code of that framework moves over: what one holder changes, all see, but those that took a
/// ``copy()``. A connection takes one when it is made. Any thread may read and change them.
public final class ConnectionParameters: Sendable {
  /// What carries the bytes.
  public enum TransportProtocol: Sendable, Hashable {
    /// A stream.
    case tcp
    /// Datagrams.
    case udp
  }

  /// The protocols of a connection.
  public struct ProtocolStack: Sendable {
    /// Framers, the one nearest to the application first. Default none. Those over datagrams are refused.
    public var applicationProtocols: [any ProtocolOptions] = []
    /// What is below. Default TCP.
    public var transportProtocol = TransportProtocol.tcp

    /// Makes a stack of TCP alone.
    public init() {}
  }

  private struct Parts: Sendable {
    var stack = ProtocolStack()
    var tls: DialRequest.TLS?
    var connection: ConnectionOptions?
    var connectTimeout: Duration? = .seconds(10)
    var stopTimeout: Duration = .seconds(5)
    var maximumMessageBytes = 1 << 24
    var maximumFramerBytes = 1 << 20
    var maximumQueuedBytes = 1 << 24
    var logger: Logger?
    var pathMonitor: (any NetworkPathMonitor)?
    var time = TimeSource.continuous
  }

  private let parts: Lock<Parts>

  private init(_ parts: Parts) { self.parts = Lock(parts) }

  /// Makes parameters for a stream.
  ///
  /// - Parameter tls: `nil`, the default, for none.
  public convenience init(tls: DialRequest.TLS? = nil) {
    var parts = Parts()
    parts.tls = tls
    self.init(parts)
  }

  /// A stream without TLS. Every call makes new ones.
  public static var tcp: ConnectionParameters { ConnectionParameters() }
  /// A stream with TLS, certificates checked as for a fetch. Every call makes new ones.
  public static var tls: ConnectionParameters { ConnectionParameters(tls: DialRequest.TLS()) }
  /// Datagrams without TLS. Every call makes new ones.
  public static var udp: ConnectionParameters {
    var parts = Parts()
    parts.stack.transportProtocol = .udp
    return ConnectionParameters(parts)
  }

  /// The same parameters, which change on their own from now on.
  public func copy() -> ConnectionParameters { ConnectionParameters(parts.withLock { $0 }) }

  /// The protocols of the connection. Default: TCP alone.
  public var defaultProtocolStack: ProtocolStack {
    get { parts.withLock { $0.stack } }
    set { parts.withLock { $0.stack = newValue } }
  }

  /// Server name, application protocols to offer (ALPN), and how certificates are checked. Default `nil`: no TLS. With
  /// datagrams ``dialRequest(to:)`` fails with `unsupported`.
  public var tls: DialRequest.TLS? {
    get { parts.withLock { $0.tls } }
    set { parts.withLock { $0.tls = newValue } }
  }

  /// Proxies, roots, client certificates, name resolution, local end. Default `nil`: the dialer's own.
  public var connection: ConnectionOptions? {
    get { parts.withLock { $0.connection } }
    set { parts.withLock { $0.connection = newValue } }
  }

  /// Limit for connecting, and again for the handshakes of the framers. Default 10 s; `nil` for none. Fails with
  /// `ETIMEDOUT`.
  public var connectTimeout: Duration? {
    get { parts.withLock { $0.connectTimeout } }
    set { parts.withLock { $0.connectTimeout = newValue } }
  }

  /// How long a framer that is stopping, and what it still writes, are waited for after a cancel. Default 5 s.
  public var stopTimeout: Duration {
    get { parts.withLock { $0.stopTimeout } }
    set { parts.withLock { $0.stopTimeout = newValue } }
  }

  /// Longest message that ``Connection/receiveMessage(completion:)`` collects, and greatest minimum of a receive.
  /// Default 16 MiB; below 1 counts as 1. A longer one fails with `EMSGSIZE`.
  public var maximumMessageBytes: Int {
    get { parts.withLock { $0.maximumMessageBytes } }
    set { parts.withLock { $0.maximumMessageBytes = max(1, newValue) } }
  }

  /// Most bytes that a framer may ask for at a time, and that are kept for it. Default 1 MiB, at least 64 KiB.
  public var maximumFramerBytes: Int {
    get { parts.withLock { $0.maximumFramerBytes } }
    set { parts.withLock { $0.maximumFramerBytes = max(65_536, newValue) } }
  }

  /// Bytes that may be queued for sending. A send beyond fails with `ENOBUFS`; one send alone may be of any size.
  /// Default 16 MiB; below 1 counts as 1.
  public var maximumQueuedBytes: Int {
    get { parts.withLock { $0.maximumQueuedBytes } }
    set { parts.withLock { $0.maximumQueuedBytes = max(1, newValue) } }
  }

  /// Where the connection logs: states at debug, what framers need at trace. Default `nil`: nowhere.
  public var logger: Logger? {
    get { parts.withLock { $0.logger } }
    set { parts.withLock { $0.logger = newValue } }
  }

  /// What tells viability. Default `nil`: a connection counts as viable from ready to its end.
  public var pathMonitor: (any NetworkPathMonitor)? {
    get { parts.withLock { $0.pathMonitor } }
    set { parts.withLock { $0.pathMonitor = newValue } }
  }

  /// The clock of limits and wakeups. Default: the system's continuous clock.
  public var time: TimeSource {
    get { parts.withLock { $0.time } }
    set { parts.withLock { $0.time = newValue } }
  }
}

extension ConnectionParameters {
  /// The request that a dialer gets for an endpoint.
  ///
  /// - Throws: ``ConnectionError``: code `unsupported` for a service, and for TLS over datagrams; `invalid_option` for
  ///   no host or port.
  public func dialRequest(to endpoint: ConnectionEndpoint) throws(ConnectionError) -> DialRequest {
    if defaultProtocolStack.transportProtocol == .udp, tls != nil {
      throw .transport(
        .refused(.unsupported, "TLS cannot run over datagrams", hint: "use a stream, or leave TLS out"))
    }
    guard case .unix(let path) = endpoint else {
      let (host, port) = try endpoint.address()
      return DialRequest(
        host: host, port: port, tls: tls, connection: connection, connectTimeout: connectTimeout)
    }
    var options = connection ?? ConnectionOptions()
    options.unixSocketPath = path
    // They are not resolved: they only name the connection.
    return DialRequest(
      host: "localhost", port: 80, tls: tls, connection: options, connectTimeout: connectTimeout)
  }
}
