// SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import FoundationEssentials
public import Lastro
internal import LastroSupport

/// A connection to the network, or over any other carrier that a `Dialer` reaches. It corresponds to `NWConnection` of
/// Network framework.
///
/// ```swift
/// let connection = NetworkConnection(to: .hostPort(host: "example.com", port: 443), using: .tls, dialer: dialer)
/// connection.stateUpdateHandler = { state in print(state) }
/// connection.start(queue: .main)
/// connection.send(content: Data("GET / HTTP/1.0\r\n\r\n".utf8), completion: .contentProcessed { error in })
/// ```
///
/// The parameters select a stream or datagrams, TLS, and the framers that turn the stream into messages. Every datagram
/// is a message. Without framers, a stream is a single endless message in ``ConnectionContentContext/defaultStream``.
///
/// In addition to the guarantees of ``Connection``:
///
/// - The states are `preparing`, then `ready` or `failed`, and `cancelled` after a cancel. The connection never waits
///   for a better network, and never dials twice.
/// - It reads ahead at most 64 KiB; flow control holds back the rest at the server. Sends beyond
///   ``ConnectionParameters/maximumQueuedBytes`` fail with `ENOBUFS`.
/// - Content that arrived before a failure can be received after it.
/// - Viability is `true` at ready. It then follows the network, if the connection watches its path
///   (``ConnectionParameters/watchesNetworkPath``), and becomes `false` right before a viable connection fails.
/// - Sends after the end of the outgoing direction fail with `EPIPE`.
/// - The queue may be concurrent: handlers still run one at a time.
/// - Dropping the last reference cancels the connection. A handler that retains the connection keeps it alive until it
///   is cancelled.
///
/// Hosts are IPv4 addresses, IPv6 addresses and names. ``ConnectionEndpoint/unix(path:)`` and
/// ``ConnectionEndpoint/url(_:)`` are also allowed; a service fails with code `unsupported`.
public final class NetworkConnection: Connection {
  /// The endpoint of the connection.
  public let endpoint: ConnectionEndpoint
  private let core: ConnectionCore

  /// Creates a connection without starting it.
  ///
  /// - Parameters:
  ///   - endpoint: the destination. An invalid one makes the connection fail when it is started.
  ///   - parameters: the parameters, which are copied.
  ///   - dialer: the dialer that connects.
  public init(to endpoint: ConnectionEndpoint, using parameters: ConnectionParameters, dialer: any Dialer) {
    self.endpoint = endpoint
    core = ConnectionCore(endpoint, parameters.copy(), dialer)
  }

  deinit { core.cancel() }

  /// A copy of the parameters; changes to it have no effect on the connection.
  package var parameters: ConnectionParameters { core.parameters.copy() }
  /// The current state. It may be read from any thread.
  public var state: ConnectionState { core.shared.withLock { $0.state } }
  /// Waits until a new connection would use another client certificate than this one, or other trust rules: files of
  /// TLS options have changed, a `RotatingIdentity` was replaced, or pins were. Open another connection then.
  ///
  /// The rules are checked every 5 s while a task waits. Files are checked at most once a second, separately for new
  /// connections, so wait for a second before you open another one. The wait keeps the connection alive.
  ///
  /// - Returns: true if the connection is outdated; false once it has failed or was cancelled.
  /// - Throws: `ECANCELED` in a cancelled task.
  public func waitUntilOutdated() async throws(ConnectionError) -> Bool { try await core.waitUntilOutdated() }

  /// The outcome of the start; `nil` while it is open.
  var outcome: Result<Void, ConnectionError>? {
    let (state, isCancelled) = core.shared.withLock { ($0.state, $0.isCancelled) }
    if isCancelled { return .failure(.posix(.ECANCELED)) }
    switch state {
    case .ready: return .success(())
    case .failed(let error): return .failure(error)
    case .cancelled: return .failure(.posix(.ECANCELED))
    case .setup, .waiting, .preparing: return nil
    }
  }
  /// The facts about the stream below; `nil` before it is connected.
  public var facts: StreamFacts? { core.record.read(\.facts) }

  /// A closure that is called with each new state; see ``Connection/stateUpdateHandler``.
  public var stateUpdateHandler: (@Sendable (ConnectionState) -> Void)? {
    get { core.shared.withLock { $0.stateHandler } }
    set { core.set(newValue, at: \.stateHandler) }
  }

  /// A closure that is called when viability changes; see ``Connection/viabilityUpdateHandler``.
  public var viabilityUpdateHandler: (@Sendable (Bool) -> Void)? {
    get { core.shared.withLock { $0.viabilityHandler } }
    set { core.set(newValue, at: \.viabilityHandler) }
  }

  /// Starts connecting; handlers and completions are called on this queue.
  public func start(queue: DispatchQueue) { core.start(queue) }

  /// Closes the connection permanently.
  ///
  /// Pending receives and sends fail with `ECANCELED`. Framers are stopped and may write their last bytes
  /// (``ConnectionParameters/stopTimeout``) before the state becomes `cancelled`.
  public func cancel() { core.cancel() }

  /// Sends content; see ``Connection``.
  public func send(
    content: Data?, contentContext: ConnectionContentContext, isComplete: Bool, completion: ConnectionSendCompletion
  ) {
    core.send(
      OutgoingContent(data: content, context: contentContext, isComplete: isComplete, completion: completion))
  }

  /// Receives content; see ``Connection``.
  public func receive(
    minimumIncompleteLength: Int, maxLength: Int,
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
  ) {
    core.receive(.init(minimum: minimumIncompleteLength, maximum: maxLength, isMessage: false, completion: completion))
  }

  /// Receives a message; see ``Connection``.
  public func receiveMessage(
    completion: @escaping @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void
  ) {
    core.receive(.init(minimum: 0, maximum: .max, isMessage: true, completion: completion))
  }
}

extension NetworkConnection {
  /// Creates a connection that runs framers over another connection, and owns the other one: it starts it if necessary,
  /// and cancels it when it is cancelled itself.
  ///
  /// Framers in the parameters of a transport's factory run at the innermost connection. The framers passed here run on
  /// the bytes that the transport carries.
  ///
  /// - Parameters:
  ///   - connection: the connection that carries the bytes. It must have no other user.
  ///   - framers: the framers, starting with the one nearest to the application.
  ///   - parameters: limits, logger and path monitor; without a monitor, that of a ``NetworkConnection`` is used.
  ///     Default: those of a stream. Because the connection already exists, TLS is refused with code `unsupported`.
  ///   - endpoint: the remote endpoint that framers see. Default: that of a ``NetworkConnection``, else a placeholder.
  public convenience init(
    over connection: any Connection, framers: [any ProtocolOptions], using parameters: ConnectionParameters = .tcp,
    endpoint: ConnectionEndpoint? = nil
  ) {
    let own = parameters.copy()
    own.defaultProtocolStack.transportProtocol = .tcp
    own.defaultProtocolStack.applicationProtocols = framers
    if own.pathMonitor == nil { own.pathMonitor = (connection as? NetworkConnection)?.parameters.pathMonitor }
    let known = endpoint ?? (connection as? NetworkConnection)?.endpoint
    self.init(to: known ?? .somewhere, using: own, dialer: SingleConnectionDialer(connection))
  }
}
