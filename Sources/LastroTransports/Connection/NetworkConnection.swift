// SPDX-License-Identifier: Apache-2.0

public import Dispatch
public import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A connection to the network, or over anything else that a `Dialer` reaches; the counterpart of Network framework's
/// `NWConnection`.
///
/// ```swift
/// let connection = NetworkConnection(to: .hostPort(host: "example.com", port: 443), using: .tls, dialer: dialer)
/// connection.stateUpdateHandler = { state in print(state) }
/// connection.start(queue: .main)
/// connection.send(content: Data("GET / HTTP/1.0\r\n\r\n".utf8), completion: .contentProcessed { error in })
/// ```
///
/// The parameters choose: a stream or datagrams, TLS or none, and the framers, which turn the stream into messages.
/// Every datagram is a message. Without framers a stream is one endless message in
/// ``ConnectionContentContext/defaultStream``.
///
/// It keeps every promise of ``Connection``, and these:
///
/// - The states are `preparing`, then `ready` or `failed`, then, after a cancel, `cancelled`. It never waits for a
///   better network, and never dials twice.
/// - It reads ahead 64 KiB at most; what is not received stays with the server. Sends beyond
///   ``ConnectionParameters/maximumQueuedBytes`` fail with `ENOBUFS`.
/// - What came before a failure can be received after it.
/// - Viability is `true` at ready, then follows ``ConnectionParameters/pathMonitor``, and is `false` right before a
///   failure of a connection that was viable.
/// - Sends after the end of our direction fail with `EPIPE`.
/// - The queue may be concurrent: handlers still run one at a time.
/// - Dropping the last reference cancels it. Handlers that hold it keep it until it is cancelled.
///
/// Hosts are IPv4 and IPv6 addresses and names. Beyond what transports take, ``ConnectionEndpoint/unix(path:)`` and
/// ``ConnectionEndpoint/url(_:)`` are allowed; a service fails with code `unsupported`.
public final class NetworkConnection: Connection {
  /// The endpoint that it leads to.
  public let endpoint: ConnectionEndpoint
  private let core: ConnectionCore

  /// Makes a connection, without starting it.
  ///
  /// - Parameters:
  ///   - endpoint: where it shall lead. A bad one is told by state `failed`.
  ///   - parameters: how; copied.
  ///   - dialer: what connects.
  public init(to endpoint: ConnectionEndpoint, using parameters: ConnectionParameters, dialer: any Dialer) {
    self.endpoint = endpoint
    core = ConnectionCore(endpoint, parameters.copy(), dialer)
  }

  deinit { core.cancel() }

  /// What it was made with; changes have no effect any more.
  public var parameters: ConnectionParameters { core.parameters.copy() }
  /// How far the connection has come. Any thread may ask.
  public var state: ConnectionState { core.shared.withLock { $0.state } }
  /// What became of the start; `nil` before anything did.
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
  /// What is known about the stream below; `nil` before it is ready.
  public var facts: StreamFacts? { core.shared.withLock { $0.facts } }
  /// The queue it was started on; `nil` before.
  public var queue: DispatchQueue? { core.shared.withLock { $0.userQueue } }

  /// See ``Connection/stateUpdateHandler``.
  public var stateUpdateHandler: (@Sendable (ConnectionState) -> Void)? {
    get { core.shared.withLock { $0.stateHandler } }
    set { core.setStateHandler(newValue) }
  }

  /// See ``Connection/viabilityUpdateHandler``.
  public var viabilityUpdateHandler: (@Sendable (Bool) -> Void)? {
    get { core.shared.withLock { $0.viabilityHandler } }
    set { core.setViabilityHandler(newValue) }
  }

  /// Begins to connect; handlers and completions are called on this queue.
  public func start(queue: DispatchQueue) { core.start(queue) }

  /// Ends the connection, at once and for good.
  ///
  /// Open receives and sends fail with `ECANCELED`. Framers are stopped and may write their last
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
