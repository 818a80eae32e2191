// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport
public import Logging

/// The parameters of a connection: stream or datagrams, TLS, and application protocols. They correspond to
/// `NWParameters` of Network framework.
///
/// This is a class, so that code written for that framework can be ported. A change by one holder is visible to all
/// others, except those that made a ``copy()``. A connection copies its parameters when it is created. They may be read
/// and changed from any thread.
public final class ConnectionParameters: Sendable {
  /// The kind of transport that carries the bytes.
  public enum TransportProtocol: Sendable, Hashable {
    /// A stream.
    case tcp
    /// Datagrams.
    case udp
  }

  /// A stack of protocols for a connection.
  public struct ProtocolStack: Sendable {
    /// The framers, starting with the one nearest to the application. Default: none. Framers over datagrams are
    /// refused.
    public var applicationProtocols: [any ProtocolOptions] = []
    /// The transport below the framers. Default: TCP.
    public var transportProtocol = TransportProtocol.tcp

    /// Creates a stack of TCP alone.
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

  /// Creates parameters for a stream.
  ///
  /// - Parameter tls: the TLS parameters; `nil`, the default: no TLS.
  public convenience init(tls: DialRequest.TLS? = nil) {
    var parts = Parts()
    parts.tls = tls
    self.init(parts)
  }

  /// Parameters for a stream without TLS. Each access creates new ones.
  public static var tcp: ConnectionParameters { ConnectionParameters() }
  /// Parameters for a stream with TLS, with certificates checked as for a fetch. Each access creates new ones.
  public static var tls: ConnectionParameters { ConnectionParameters(tls: DialRequest.TLS()) }
  /// Parameters for datagrams without TLS. Each access creates new ones.
  public static var udp: ConnectionParameters {
    var parts = Parts()
    parts.stack.transportProtocol = .udp
    return ConnectionParameters(parts)
  }

  /// Returns an independent copy of the parameters.
  public func copy() -> ConnectionParameters { ConnectionParameters(parts.withLock { $0 }) }

  /// The protocols of the connection. Default: TCP alone.
  public var defaultProtocolStack: ProtocolStack {
    get { parts.withLock { $0.stack } }
    set { parts.withLock { $0.stack = newValue } }
  }

  /// The server name, the application protocols to offer (ALPN) and the certificate check. Default `nil`: no TLS. With
  /// datagrams, the connection fails with `unsupported`.
  public var tls: DialRequest.TLS? {
    get { parts.withLock { $0.tls } }
    set { parts.withLock { $0.tls = newValue } }
  }

  /// Proxies, roots, client certificates, name resolution and local address. Default `nil`: the options of the dialer.
  public var connection: ConnectionOptions? {
    get { parts.withLock { $0.connection } }
    set { parts.withLock { $0.connection = newValue } }
  }

  /// The time limit for connecting, which applies again to the handshakes of the framers. Default 10 s; `nil`: no
  /// limit. When it passes, the connection fails with `ETIMEDOUT`.
  public var connectTimeout: Duration? {
    get { parts.withLock { $0.connectTimeout } }
    set { parts.withLock { $0.connectTimeout = newValue } }
  }

  /// The longest wait after a cancel for framers that are stopping and for their remaining output. Default 5 s.
  public var stopTimeout: Duration {
    get { parts.withLock { $0.stopTimeout } }
    set { parts.withLock { $0.stopTimeout = newValue } }
  }

  /// The maximum length of a message that ``Connection/receiveMessage(completion:)`` collects, and the greatest minimum
  /// of a receive. Default 16 MiB; values below 1 count as 1. A longer message fails with `EMSGSIZE`.
  public var maximumMessageBytes: Int {
    get { parts.withLock { $0.maximumMessageBytes } }
    set { parts.withLock { $0.maximumMessageBytes = max(1, newValue) } }
  }

  /// The maximum number of bytes that a framer may request at a time, and that are buffered for it. Default 1 MiB, at
  /// least 64 KiB.
  public var maximumFramerBytes: Int {
    get { parts.withLock { $0.maximumFramerBytes } }
    set { parts.withLock { $0.maximumFramerBytes = max(65_536, newValue) } }
  }

  /// The maximum number of bytes queued for sending. A send beyond that fails with `ENOBUFS`; a single send may have
  /// any size. Default 16 MiB; values below 1 count as 1.
  public var maximumQueuedBytes: Int {
    get { parts.withLock { $0.maximumQueuedBytes } }
    set { parts.withLock { $0.maximumQueuedBytes = max(1, newValue) } }
  }

  /// The logger of the connection: states at debug level, the needs of framers at trace level. Default `nil`: no
  /// logging.
  public var logger: Logger? {
    get { parts.withLock { $0.logger } }
    set { parts.withLock { $0.logger = newValue } }
  }

  /// Whether viability follows the kernel's reports of network changes (netlink), which needs no privileges. Default
  /// false: a connection counts as viable from ready to its end. A ``NetworkConnection`` that the shared engine dials
  /// follows them always.
  public var watchesNetworkPath: Bool {
    get { pathMonitor != nil }
    set { pathMonitor = newValue ? pathMonitor ?? NetlinkPathMonitor.shared : nil }
  }

  /// The monitor that determines viability. Default `nil`: a connection counts as viable from ready to its end.
  package var pathMonitor: (any NetworkPathMonitor)? {
    get { parts.withLock { $0.pathMonitor } }
    set { parts.withLock { $0.pathMonitor = newValue } }
  }

  /// The clock for limits and wakeups. Default: the system's continuous clock.
  public var time: TimeSource {
    get { parts.withLock { $0.time } }
    set { parts.withLock { $0.time = newValue } }
  }
}

extension ConnectionParameters {
  /// Returns the dial request for an endpoint.
  ///
  /// - Throws: ``ConnectionError``: code `unsupported` for a service, and for TLS over datagrams; `invalid_option` for
  ///   an invalid host or port.
  package func dialRequest(to endpoint: ConnectionEndpoint) throws(ConnectionError) -> DialRequest {
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
    // Host and port are not resolved: they only name the connection.
    return DialRequest(
      host: "localhost", port: 80, tls: tls, connection: options, connectTimeout: connectTimeout)
  }
}
