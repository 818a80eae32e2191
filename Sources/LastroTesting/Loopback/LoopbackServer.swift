// SPDX-License-Identifier: Apache-2.0

import CLoopback
import Lastro
internal import LastroSupport

/// A scripted server on 127.0.0.1, or on a Unix socket, plain or TLS, that does exactly what its handler says: legal
/// HTTP, illegal HTTP, half an answer, a reset, nothing.
///
/// ```swift
/// let server = try LoopbackServer { connection in
///   _ = try connection.readHead()
///   try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
///   connection.reset()
/// }
/// ```
///
/// It runs on threads of its own, one that accepts and one for each connection, with small stacks: some thousands of
/// connections at a time are fine, given the descriptors (``raiseDescriptorLimit()``). Dropping the server stops it.
public final class LoopbackServer: Sendable {
  /// Runs once for each connection, on the connection's thread. It may block. What it throws is kept in ``errors``
  /// and closes the connection.
  public typealias Handler = @Sendable (LoopbackConnection) throws -> Void

  /// Where it listens, with the port in use.
  public let endpoint: LoopbackEndpoint
  /// Whether it speaks TLS.
  public let isTLS: Bool

  private let core: LoopbackCore

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - endpoint: default a port of the kernel's choice.
  ///   - tls: default plain.
  ///   - handler: what each connection does.
  /// - Throws: ``LoopbackError``: the address cannot be listened at, or the TLS options are unusable.
  public init(
    _ endpoint: LoopbackEndpoint = .ephemeral, tls: LoopbackTLS? = nil, handler: @escaping Handler
  ) throws(LoopbackError) {
    let context = try Self.context(tls)
    let listener: Int32
    var socketPath: String?
    switch endpoint {
    case .port(var port):
      listener = cloopback_listen_tcp(&port)
      if listener < 0 { throw .cannotListen("port \(port) of 127.0.0.1 cannot be bound") }
      self.endpoint = .port(port)
    case .unixSocket(let path):
      listener = cloopback_listen_unix(path)
      if listener < 0 { throw .cannotListen("the path \(path) is taken, too long or not writable") }
      self.endpoint = endpoint
      socketPath = path
    }
    isTLS = tls != nil
    core = try LoopbackCore(listener: listener, socketPath: socketPath, tls: context, handler: handler)
    try core.start()
  }

  deinit { core.stop(isLast: true) }

  private static func context(
    _ tls: LoopbackTLS?
  ) throws(LoopbackError) -> LoopbackCore.TLS? {
    guard let tls else { return nil }
    return LoopbackCore.TLS(context: try TLSContext(tls), fault: tls.handshakeFault)
  }

  /// Closes the listener and every connection, and waits until all threads have ended. May be called from any thread
  /// and more than once; from a handler it does not wait.
  ///
  /// A handler that computes, or blocks on something other than its connection, holds it up.
  public func stop() { core.stop(isLast: false) }

  /// Closes every connection that is open, without close_notify, and accepts others as before: what clients see of a
  /// server that was restarted. Answers that are being written are cut. May be called from any thread; does not wait
  /// for the handlers, which find their connection ended.
  public func closeConnections() { core.closeConnections() }

  // MARK: addresses

  /// The port; 0 on a Unix socket.
  public var port: Int {
    if case .port(let port) = endpoint { Int(port) } else { 0 }
  }

  /// Such as `http://127.0.0.1:40123`, without a path. Over TLS the host is `localhost`.
  public var baseURL: String {
    guard case .port(let port) = endpoint else { return isTLS ? "https://localhost" : "http://localhost" }
    return isTLS ? "https://localhost:\(port)" : "http://127.0.0.1:\(port)"
  }

  // MARK: a certificate that changes

  /// Meets connections that are accepted from now on in another way: a certificate replaced at night. Those that are
  /// open go on as they are. May be called from any thread.
  ///
  /// - Parameters:
  ///   - tls: the new options.
  ///   - keepingSessions: whether sessions begun before may be resumed, so that a client may meet the new certificate
  ///     without seeing it. Default false: as after a restart.
  /// - Throws: ``LoopbackError/invalidTLS(_:)``: unusable options, or a server without TLS. It then goes on as it was.
  public func replaceTLS(_ tls: LoopbackTLS, keepingSessions: Bool = false) throws(LoopbackError) {
    guard let old = core.state.withLock({ $0.tls }) else { throw .invalidTLS("the server was started without TLS") }
    let context = try TLSContext(tls)
    if keepingSessions { try context.takeOverSessions(of: old.context) }
    core.state.withLock { $0.tls = LoopbackCore.TLS(context: context, fault: tls.handshakeFault) }
  }

  // MARK: a slow line

  /// Limits the receive buffers of connections that are accepted from now on. A handler that reads little by little is
  /// then a slow line: the kernel acknowledges about as much as was read.
  package func limitReceiveBuffers(to bytes: Int) {
    cloopback_limit_receive_buffers(core.listener, Int32(clamping: bytes))
  }

  // MARK: what happened

  /// Number of connections accepted so far.
  public var acceptedConnections: Int { core.state.withLock { $0.accepted } }
  /// Number of connections open now.
  public var openConnections: Int { core.state.withLock { $0.descriptors.count } }
  /// Number of connections whose handler was begun: over TLS, the handshakes completed.
  public var establishedConnections: Int { core.state.withLock { $0.handshakes } }
  /// Number of TLS handshakes completed in full: the client saw the certificate.
  public var fullHandshakes: Int { core.state.withLock { isTLS ? $0.handshakes - $0.resumptions : 0 } }
  /// Number of TLS handshakes that resumed a session (RFC 8446 §2.2, RFC 5077): the client saw no certificate.
  public var resumedHandshakes: Int { core.state.withLock { $0.resumptions } }
  /// Number of bytes that handlers have been given to read, over all connections: over TLS, decrypted ones. 0 proves
  /// that nothing a client wanted to say has arrived, provided that its connection was read.
  public var receivedBytes: Int { core.state.withLock { $0.receivedBytes } }
  /// Every request read, in the order of the ends of their heads.
  public var requests: [LoopbackRequest] { core.state.withLock { $0.requests } }
  /// What handlers threw, failed handshakes among it, in order.
  public var errors: [any Error] { core.state.withLock { $0.errors } }

  /// Waits until so many request heads have been read; their bodies may still be on the way.
  ///
  /// - Parameters:
  ///   - count: how many requests.
  ///   - complete: wait for the bodies too. Default false.
  /// - Returns: all requests so far.
  /// - Throws: `CancellationError`; ``LoopbackError/stopped``.
  @discardableResult
  public func waitForRequests(count: Int, complete: Bool = false) async throws -> [LoopbackRequest] {
    if complete {
      try await core.wait(for: count, counting: { $0.completed }, in: \.completionWaiters)
    } else {
      try await core.wait(for: count, counting: { $0.requests.count }, in: \.requestWaiters)
    }
    return requests
  }

  /// Waits until so many connections have been accepted.
  ///
  /// - Throws: `CancellationError`; ``LoopbackError/stopped``.
  public func waitForConnections(count: Int) async throws {
    try await core.wait(for: count, counting: { $0.accepted }, in: \.connectionWaiters)
  }

  /// Raises this process's soft limit of open descriptors to the hard one (`RLIMIT_NOFILE`), as a test with thousands
  /// of connections needs.
  ///
  /// - Returns: the limit now in force.
  @discardableResult
  public static func raiseDescriptorLimit() -> Int { Int(clamping: cloopback_raise_descriptor_limit()) }
}
