// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import LastroTesting
import Synchronization

/// A server that the shop depends on. Its faults can be switched on and off.
final class Upstream: Sendable {
  enum Mode: Sendable {
    case healthy
    /// Connections are reset during the TLS handshake.
    case down
    /// Requests are read, but receive no response.
    case silent
    /// Every response has the status 500.
    case failing
    /// Requests wait until the mode changes, and then receive their response.
    case held
  }

  private struct State {
    var mode = Mode.healthy
    var certificate: MintedCertificate
  }

  let host: String
  let server: LoopbackServer
  private let state: Mutex<State>
  private let turning: Turning

  /// The state that the threads of connections read.
  private final class Turning: Sendable {
    let mode = Mutex(Mode.healthy)
    let gate = DispatchGroup()

    func answer(_ request: LoopbackRequest, _ respond: (LoopbackRequest) -> LoopbackResponse) -> LoopbackResponse {
      switch mode.withLock({ $0 }) {
      case .healthy, .down: return respond(request)
      case .silent: return .fault(.stall)
      case .failing: return .text("the database is gone", status: 500)
      case .held:
        gate.wait()
        return respond(request)
      }
    }
  }

  init(
    _ host: String, _ certificate: MintedCertificate, respond: @escaping @Sendable (LoopbackRequest) -> LoopbackResponse
  ) throws {
    let turning = Turning()
    self.host = host
    self.turning = turning
    state = Mutex(State(certificate: certificate))
    server = try LoopbackServer.http(tls: LoopbackTLS(certificate)) { turning.answer($0, respond) }
  }

  var baseURL: String { "https://\(host):\(server.port)" }

  /// The number of received requests and of connections whose handshake failed.
  var contacts: Int { server.requests.count + server.acceptedConnections - server.establishedConnections }

  func turn(_ mode: Mode) throws {
    let old = state.withLock { state in
      defer { state.mode = mode }
      return state.mode
    }
    if mode == .held { turning.gate.enter() }
    turning.mode.withLock { $0 = mode }
    if old == .held { turning.gate.leave() }
    if mode == .down || old == .down { try restart() }
  }

  /// Replaces the certificate and closes all connections, as in a restart.
  func present(_ certificate: MintedCertificate) throws {
    state.withLock { $0.certificate = certificate }
    try restart()
  }

  private func restart() throws {
    let state = state.withLock { $0 }
    let fault: LoopbackTLS.HandshakeFault? = state.mode == .down ? .resetInHandshake : nil
    try server.replaceTLS(LoopbackTLS(state.certificate, handshakeFault: fault))
    server.closeConnections()
  }
}
