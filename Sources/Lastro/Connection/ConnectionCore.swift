// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

/// What is behind a ``NetworkConnection``.
final class ConnectionCore: Sendable {
  struct Shared: Sendable {
    var state = ConnectionState.setup
    var facts: StreamFacts?
    var userQueue: DispatchQueue?
    var stateHandler: (@Sendable (ConnectionState) -> Void)?
    var viabilityHandler: (@Sendable (Bool) -> Void)?
  }

  let parameters: ConnectionParameters
  let shared = Lock(Shared())

  init(_ endpoint: ConnectionEndpoint, _ parameters: ConnectionParameters, _ dialer: any Dialer) {
    self.parameters = parameters
  }

  func setStateHandler(_ handler: (@Sendable (ConnectionState) -> Void)?) {}
  func setViabilityHandler(_ handler: (@Sendable (Bool) -> Void)?) {}
  func start(_ queue: DispatchQueue) {}
  func cancel() {}
  func send(_ content: OutgoingContent) {}
  func receive(_ request: ReceiveRequest) {}
}

extension Connection {
  /// Started, where it was not, and ready, where that can be told.
  func settle(within limit: Duration?) async throws(ConnectionError) {
    guard let connection = self as? NetworkConnection else {
      return start(queue: DispatchQueue(label: "lastro.connection"))
    }
    if connection.state == .setup { return try await start(within: limit) }
  }
}
