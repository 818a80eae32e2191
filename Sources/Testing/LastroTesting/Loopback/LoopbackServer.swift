// SPDX-License-Identifier: Apache-2.0

import CLoopback
import Lastro
internal import LastroSupport

/// A scripted server on 127.0.0.1, or on a Unix socket, in plaintext or over TLS, that does exactly what its handler
/// does: it may send valid HTTP, invalid HTTP, half a response, a reset, or nothing.
///
/// ```swift
/// let server = try LoopbackServer { connection in
///   _ = try connection.readRequest()
///   try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
///   connection.reset()
/// }
/// ```
///
/// It runs on its own threads, one that accepts and one per connection, with small stacks. Some thousands of concurrent
/// connections are possible, given enough descriptors (`RLIMIT_NOFILE`). Dropping the server stops it.
public final class LoopbackServer: Sendable {
  /// A closure that runs once per connection, on the connection's thread. It may block. Its error is recorded in
  /// ``errors`` and closes the connection.
  public typealias Handler = @Sendable (LoopbackConnection) throws -> Void

  /// The endpoint that the server listens on, with the actual port.
  package let endpoint: LoopbackEndpoint
  /// Whether the server uses TLS.
  package let isTLS: Bool

  private let core: LoopbackCore

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - port: the port of 127.0.0.1 to listen on. Default 0: the kernel chooses one.
  ///   - unixSocketPath: the path of a Unix socket to listen on, in place of a port: at most 107 bytes. It must not
  ///     exist yet, and is removed when the server stops. Default: none.
  ///   - tls: the TLS options. Default: plaintext.
  ///   - handler: handles each connection.
  /// - Throws: ``LoopbackError``: the server cannot listen on the address, or the TLS options are invalid.
  public convenience init(
    port: UInt16 = 0, unixSocketPath: String? = nil, tls: LoopbackTLS? = nil, handler: @escaping Handler
  ) throws(LoopbackError) {
    try self.init(port: port, unixSocketPath: unixSocketPath, tls: tls, bounds: nil, handler: handler)
  }

  /// Starts a server.
  ///
  /// - Parameter bounds: the limits of a server that programs other than tests may reach; `nil` for tests, whose
  ///   requests are all recorded.
  package init(
    port: UInt16 = 0, unixSocketPath: String? = nil, tls: LoopbackTLS? = nil, bounds: LoopbackBounds?,
    handler: @escaping Handler
  ) throws(LoopbackError) {
    let context = try tls.map { options throws(LoopbackError) in try TLSContext(options) }
    let listener: Int32
    if let unixSocketPath {
      listener = cloopback_listen_unix(unixSocketPath)
      if listener < 0 { throw .cannotListen("the path \(unixSocketPath) is taken, too long or not writable") }
      endpoint = .unixSocket(path: unixSocketPath)
    } else {
      var port = port
      listener = cloopback_listen_tcp(&port)
      if listener < 0 { throw .cannotListen("port \(port) of 127.0.0.1 cannot be bound") }
      endpoint = .port(port)
    }
    isTLS = tls != nil
    core = try LoopbackCore(
      listener: listener, socketPath: unixSocketPath, tls: context, bounds: bounds, handler: handler)
    try core.start()
  }

  deinit { core.stop(isLast: true) }

  /// Closes the listener and every connection, and waits until all threads have ended. It may be called from any thread
  /// and more than once; in a handler it does not wait.
  ///
  /// A handler that computes, or blocks on anything other than its connection, delays it.
  public func stop() { core.stop(isLast: false) }

  /// Closes every open connection without close_notify, and continues to accept connections, like a restarted server.
  /// Responses in progress are cut off. It may be called from any thread, and does not wait for the handlers, which see
  /// the end of their connection.
  public func closeConnections() { core.closeConnections() }

  // MARK: addresses

  /// The port; 0 on a Unix socket.
  public var port: Int {
    if case .port(let port) = endpoint { Int(port) } else { 0 }
  }

  /// The base URL, such as `http://127.0.0.1:40123`, without a path. Over TLS the host is `localhost`.
  public var baseURL: String {
    guard case .port(let port) = endpoint else { return isTLS ? "https://localhost" : "http://localhost" }
    return isTLS ? "https://localhost:\(port)" : "http://127.0.0.1:\(port)"
  }

  // MARK: a certificate that changes

  /// Replaces the TLS options for connections that are accepted from now on, for example to simulate a renewed
  /// certificate. Open connections continue unchanged. It may be called from any thread.
  ///
  /// - Parameters:
  ///   - tls: the new options.
  ///   - keepingSessions: whether earlier sessions may be resumed, so that a client may continue without seeing the new
  ///     certificate. Default false, as after a restart.
  /// - Throws: ``LoopbackError/invalidTLS(_:)`` for invalid options, or for a server without TLS. The server then keeps
  ///   its options.
  public func replaceTLS(_ tls: LoopbackTLS, keepingSessions: Bool = false) throws(LoopbackError) {
    guard let old = core.state.read({ $0.tls }) else { throw .invalidTLS("the server was started without TLS") }
    let context = try TLSContext(tls)
    if keepingSessions { try context.takeOverSessions(of: old) }
    core.state.change { $0.tls = context }
  }

  // MARK: a slow line

  /// Limits the receive buffers of connections that are accepted from now on. With a handler that reads little at a
  /// time, this simulates a slow network: the kernel acknowledges about as much as was read.
  package func limitReceiveBuffers(to bytes: Int) {
    cloopback_limit_receive_buffers(core.listener, Int32(clamping: bytes))
  }

  // MARK: what happened

  /// The number of connections accepted so far.
  public var acceptedConnections: Int { core.state.read { $0.accepted } }
  /// The number of open connections.
  package var openConnections: Int { core.state.read { $0.descriptors.count } }
  /// The number of connections whose handler was started; over TLS, the number of completed handshakes.
  public var establishedConnections: Int { core.state.read { $0.handshakes } }
  /// The number of full TLS handshakes, in which the client saw the certificate.
  package var fullHandshakes: Int { core.state.read { isTLS ? $0.handshakes - $0.resumptions : 0 } }
  /// The number of TLS handshakes that resumed a session (RFC 8446 §2.2, RFC 5077), in which the client saw no
  /// certificate.
  package var resumedHandshakes: Int { core.state.read { $0.resumptions } }
  /// The number of bytes that handlers have read on all connections; over TLS, decrypted bytes. 0 proves that no client
  /// data has arrived, provided that the connection was read.
  public var receivedBytes: Int { core.state.read { $0.receivedBytes } }
  /// The requests read so far, in the order in which their heads ended.
  public var requests: [LoopbackRequest] { core.state.read { $0.requests } }
  /// The errors of handlers, including failed handshakes, in order.
  public var errors: [any Error] { core.state.read { $0.errors } }

  /// Waits until the given number of request heads has been read; their bodies may not be complete.
  ///
  /// - Parameters:
  ///   - count: the number of requests.
  ///   - complete: whether to wait for the bodies too. Default false.
  /// - Returns: all requests so far.
  /// - Throws: `CancellationError`; ``LoopbackError/stopped``.
  @discardableResult
  public func waitForRequests(count: Int, complete: Bool = false) async throws -> [LoopbackRequest] {
    if complete {
      try await core.wait { $0.completed >= count }
    } else {
      try await core.wait { $0.requests.count >= count }
    }
    return requests
  }

  /// Waits until the given number of connections has been accepted.
  ///
  /// - Throws: `CancellationError`; ``LoopbackError/stopped``.
  package func waitForConnections(count: Int) async throws {
    try await core.wait { $0.accepted >= count }
  }
}

extension LoopbackServer {
  /// Starts a well-behaved HTTP/1.1 server. It supports keep-alive, request bodies by `Content-Length` or in chunks,
  /// `Expect: 100-continue` and `Connection: close`, and sends no body to HEAD.
  ///
  /// - Parameters:
  ///   - port: the port of 127.0.0.1 to listen on. Default 0: the kernel chooses one.
  ///   - unixSocketPath: the path of a Unix socket to listen on, in place of a port: at most 107 bytes. It must not
  ///     exist yet, and is removed when the server stops. Default: none.
  ///   - tls: the TLS options. Default: plaintext.
  ///   - respond: returns the response to a request. It runs on the connection's thread, and may block. If it throws,
  ///     the response is 500.
  /// - Throws: ``LoopbackError``.
  public static func http(
    port: UInt16 = 0, unixSocketPath: String? = nil, tls: LoopbackTLS? = nil,
    respond: @escaping @Sendable (LoopbackRequest) throws -> LoopbackResponse
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer(port: port, unixSocketPath: unixSocketPath, tls: tls) { connection in
      try connection.serveHTTP(respond)
    }
  }
}

extension LoopbackConnection {
  /// Responds to requests until the client is done, asks for `Connection: close`, or the response is a fault.
  ///
  /// - Throws: ``LoopbackError``: a malformed request (after a 400), or a connection that failed.
  package func serveHTTP(_ respond: (LoopbackRequest) throws -> LoopbackResponse) throws(LoopbackError) {
    while let request = try readRequestOrRefuse() {
      let response = (try? respond(request)) ?? LoopbackResponse(status: 500)
      if let fault = response.fault {
        return try perform(fault, with: response, to: request.method)
      }
      let closing = wantsClose(request.head) || response.fields.contains { Self.isClose($0) }
      try write(response.head(closing: closing) + response.sentHTTP1Body(to: request.method))
      if closing { return close() }
    }
  }

  /// Reads a request, and responds with 400 or 413 if it is malformed or too large.
  package func readRequestOrRefuse() throws(LoopbackError) -> LoopbackRequest? {
    do {
      return try readRequest()
    } catch {
      if case .malformedRequest = error {
        try write(LoopbackResponse(status: isBodyTooLarge ? 413 : 400).head(closing: true))
      }
      throw error
    }
  }

  private static func isClose(_ field: RawRequestHead.Field) -> Bool {
    field.name.lowercased() == "connection" && field.value.lowercased() == "close"
  }

  /// Whether the client wants no further response on its connection.
  package func wantsClose(_ request: LoopbackRequest) -> Bool { wantsClose(request.head) }

  private func wantsClose(_ head: RawRequestHead) -> Bool {
    let tokens = head.values("Connection").joined(separator: ",").lowercased()
    if head.version == "HTTP/1.0" { return !tokens.contains("keep-alive") }
    return tokens.contains("close")
  }

  private func perform(
    _ fault: LoopbackResponse.Fault, with response: LoopbackResponse, to method: String
  ) throws(LoopbackError) {
    let body = response.sentBody(to: method)
    switch fault.kind {
    case .stall: stall()
    case .reset: reset()
    case .close: close()
    case .truncateBody(let count):
      try write(response.head(closing: false) + body.prefix(max(0, count)))
      closeWithoutNotify()
    case .stallBody(let count):
      try write(response.head(closing: false) + body.prefix(max(0, count)))
      stall()
    case .http2:
      let answer = LoopbackResponse.text("this fault needs LoopbackServer.http2", status: 500)
      try write(answer.head(closing: true) + answer.body)
      close()
    }
  }
}

extension LoopbackServer {
  /// Starts a SOCKS 5 proxy (RFC 1928) without authentication that connects to this machine for every requested host:
  /// `example.com` with port 40123 reaches port 40123 on 127.0.0.1.
  ///
  /// - Parameter answer: returns the reply to a target, such as `example.com:40123` or `[::1]:80`; 0 accepts it. It
  ///   runs on the connection's thread. Default: accepts every target.
  /// - Throws: ``LoopbackError``.
  public static func socks5(
    answering answer: @escaping @Sendable (String) -> UInt8 = { _ in 0 }
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer { connection in
      let methods = try connection.read(exactly: 2)
      guard methods[0] == 5, try connection.read(exactly: Int(methods[1])).contains(0) else {
        return try connection.write([5, 0xFF])
      }
      try connection.write([5, 0])
      let head = try connection.read(exactly: 4)
      guard head[1] == 1, let host = try connection.readSOCKS5Host(head[3]) else {
        return try connection.write(reply(head[1] == 1 ? 8 : 7))
      }
      let port = try connection.read(exactly: 2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
      let verdict = answer("\(host):\(port)")
      guard verdict == 0 else { return try connection.write(reply(verdict)) }
      try connection.tunnel(to: port, answer: reply(0), refusal: reply(5))
    }
  }

  private static func reply(_ code: UInt8) -> [UInt8] { [5, code, 0, 1, 127, 0, 0, 1, 0, 0] }
}

extension LoopbackConnection {
  /// Reads the host of a request; returns `nil` for an unknown address type.
  fileprivate func readSOCKS5Host(_ type: UInt8) throws(LoopbackError) -> String? {
    switch type {
    case 1: return try read(exactly: 4).map(String.init).joined(separator: ".")
    case 3: return String(decoding: try read(exactly: Int(try read(exactly: 1)[0])), as: UTF8.self)
    case 4:
      let bytes = try read(exactly: 16)
      let groups = stride(from: 0, to: 16, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
      return "[" + groups.map { String($0, radix: 16) }.joined(separator: ":") + "]"
    default: return nil
    }
  }
}

extension LoopbackServer {
  /// Starts a CONNECT proxy (RFC 9110 §9.3.6), over TLS or in plaintext, that connects to this machine for every
  /// requested host: `CONNECT example.com:40123` reaches port 40123 on 127.0.0.1.
  ///
  /// The requests are recorded in ``requests``. As for every server, its certificate can be replaced while it runs
  /// (``replaceTLS(_:keepingSessions:)``).
  ///
  /// - Parameters:
  ///   - tls: the TLS options. Default: plaintext.
  ///   - answer: decides on a request: `nil` accepts it, a response refuses it. Default: accepts every request.
  /// - Throws: ``LoopbackError``.
  public static func tunnel(
    tls: LoopbackTLS? = nil,
    refusing answer: @escaping @Sendable (LoopbackRequest) -> LoopbackResponse? = { _ in nil }
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer(tls: tls) { connection in
      guard let head = try connection.readHead() else { return }
      if let refusal = answer(LoopbackRequest(head, connection: connection.number)) {
        return try connection.write(refusal.head(closing: true) + refusal.sentHTTP1Body(to: head.method))
      }
      let port = head.target.split(separator: ":").last.flatMap { UInt16(digits: $0) }
      guard head.method == "CONNECT", let port else {
        return try connection.write(LoopbackResponse(status: 405).head(closing: true))
      }
      try connection.tunnel(
        to: port, answer: Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8),
        refusal: LoopbackResponse(status: 502).head(closing: true))
    }
  }
}

extension LoopbackConnection {
  /// Forwards bytes in both directions between the client and a port on 127.0.0.1, until either side ends.
  ///
  /// - Parameters:
  ///   - answer: the bytes that the client gets when the connection is established.
  ///   - refusal: the bytes that the client gets if no server listens on the port.
  ///   - pause: the pause before bytes from the port are read, so that more of them are forwarded together. Default:
  ///     none.
  func tunnel(
    to port: UInt16, answer: [UInt8], refusal: [UInt8], pause duration: Duration? = nil
  ) throws(LoopbackError) {
    let upstream = cloopback_connect_tcp(port)
    guard upstream >= 0 else { return try write(refusal) }
    defer { cloopback_close(upstream) }
    try write(answer)
    try relay(to: upstream, pause: duration) { bytes throws(LoopbackError) in
      cloopback_send(upstream, bytes, bytes.count) >= 0
    } fromUpstream: { bytes throws(LoopbackError) in
      try write(bytes)
      return true
    }
  }

  /// Forwards bytes between the client and another socket, until either side ends, or a closure returns false.
  package func relay(
    to upstream: Int32, pause duration: Duration? = nil, fromClient: ([UInt8]) throws(LoopbackError) -> Bool,
    fromUpstream: ([UInt8]) throws(LoopbackError) -> Bool
  ) throws(LoopbackError) {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let ready = hasBufferedBytes ? Int32(CLOOPBACK_WAIT_SECOND) : cloopback_wait(upstream, descriptor, -1, -1)
      if ready & Int32(CLOOPBACK_WAIT_SECOND) != 0 {
        let bytes = read(max: .max)
        guard !bytes.isEmpty, try fromClient(bytes) else { return }
      }
      if ready & Int32(CLOOPBACK_WAIT_FIRST) != 0 {
        if let duration { pause(duration) }
        let count = cloopback_receive(upstream, &buffer, buffer.count)
        guard count > 0, try fromUpstream([UInt8](buffer.prefix(count))) else { return }
      }
    }
  }
}
