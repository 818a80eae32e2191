// SPDX-License-Identifier: Apache-2.0

internal import CLoopback
internal import Lastro
internal import LastroSupport
package import LastroTesting

/// A server of the meek transport, as published: `POST`s with an `X-Session-Id` of at least 8 characters, and bodies of
/// at most 64 KiB either way. Each session leads to an echo, or to a TCP server on this machine.
///
/// Like the published server, it cannot signal an end: when a session's target is gone it responds with 500 and removes
/// the session. An unknown ID begins a session.
package final class LoopbackMeekServer: Sendable {
  /// The target of a session.
  package enum Target: Sendable, Hashable {
    /// An echo of all received bytes.
    case echo
    /// A port on 127.0.0.1.
    case port(Int)
    /// An endless stream: 64 KiB with every response.
    case flood
  }

  /// The maximum size of a body.
  package static let payloadBytes = 65_536

  /// The web server, with its addresses, requests and connections.
  package let server: LoopbackServer
  private let sessions: Lock<[String: MeekPeerSession]>

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - tls: the TLS options. Default: plaintext.
  ///   - port: the port on 127.0.0.1 that the sessions lead to. Default `nil`: an echo.
  /// - Throws: `LoopbackError`.
  package convenience init(tls: LoopbackTLS? = nil, forwardingTo port: Int? = nil) throws(LoopbackError) {
    try self.init(tls: tls, target: port.map(Target.port) ?? .echo)
  }

  /// Starts a server whose sessions lead to a target.
  package convenience init(tls: LoopbackTLS? = nil, target: Target) throws(LoopbackError) {
    try self.init(tls: tls, target: target) { _, _ in nil }
  }

  /// Starts a server that may violate the protocol.
  ///
  /// - Parameters:
  ///   - tls: the TLS options. Default: plaintext.
  ///   - target: the target of the sessions. Default: an echo.
  ///   - fault: called for each request with its number in its session, from 1. A returned response replaces the
  ///     server's own, and the session does not see the request.
  /// - Throws: `LoopbackError`.
  package init(
    tls: LoopbackTLS? = nil, target: Target = .echo,
    fault: @escaping @Sendable (Int, LoopbackRequest) -> LoopbackResponse?
  ) throws(LoopbackError) {
    let sessions = Lock([String: MeekPeerSession]())
    self.sessions = sessions
    server = try LoopbackServer.http(tls: tls) { request in
      guard request.method == "POST" else { return .text("a web server", status: request.method == "GET" ? 200 : 400) }
      guard let id = request.head.values("X-Session-Id").first, id.utf8.count >= 8 else {
        return .text("no session", status: 400)
      }
      guard request.body.count <= Self.payloadBytes else { return .text("too much", status: 413) }
      let session = sessions.withLock { sessions in
        let session = sessions[id] ?? MeekPeerSession(target)
        sessions[id] = session
        return session
      }
      if let answer = fault(session.countRequest(), request) { return answer }
      guard let bytes = session.exchange(request.body) else {
        sessions.withLock { $0[id] = nil }
        return LoopbackResponse(status: 500)
      }
      return LoopbackResponse(headers: ["Content-Type": "application/octet-stream"], body: bytes)
    }
  }

  /// The number of known sessions.
  package var sessionCount: Int { sessions.withLock { $0.count } }

  /// Stops the server; see `LoopbackServer.stop()`.
  package func stop() { server.stop() }
}

/// A session of a ``LoopbackMeekServer``.
private final class MeekPeerSession: Sendable {
  private struct State {
    var requests = 0
    var echo: [UInt8] = []
  }

  private let target: LoopbackMeekServer.Target
  private let state = Lock(State())
  /// The descriptor of the connection to the target; -1 if there is none.
  private let descriptor: Int32

  init(_ target: LoopbackMeekServer.Target) {
    self.target = target
    if case .port(let port) = target {
      descriptor = cloopback_connect_tcp(UInt16(clamping: port))
    } else {
      descriptor = -1
    }
  }

  deinit { if descriptor >= 0 { cloopback_close(descriptor) } }

  func countRequest() -> Int {
    state.withLock { state in
      state.requests += 1
      return state.requests
    }
  }

  /// Exchanges bytes with the target; returns `nil` if the target is gone.
  func exchange(_ bytes: [UInt8]) -> [UInt8]? {
    switch target {
    case .flood: return [UInt8](repeating: 70, count: LoopbackMeekServer.payloadBytes)
    case .echo:
      return state.withLock { state in
        state.echo += bytes
        let answer = Array(state.echo.prefix(LoopbackMeekServer.payloadBytes))
        state.echo.removeFirst(answer.count)
        return answer
      }
    case .port:
      guard descriptor >= 0 else { return nil }
      if !bytes.isEmpty, cloopback_send(descriptor, bytes, bytes.count) < 0 { return nil }
      // The published server waits 10 ms for a response (turnaroundTimeout).
      guard cloopback_wait(descriptor, -1, -1, 10) & Int32(CLOOPBACK_WAIT_FIRST) != 0 else { return [] }
      var buffer = [UInt8](repeating: 0, count: LoopbackMeekServer.payloadBytes)
      let count = cloopback_receive(descriptor, &buffer, buffer.count)
      return count > 0 ? Array(buffer.prefix(count)) : nil
    }
  }
}
