// SPDX-License-Identifier: Apache-2.0

internal import LastroTesting

/// A server's side of one connection in a simulation. It reads requests, gives them to the machine, and sends the
/// responses.
///
/// The far end of the link keeps its session alive.
protocol ServerSession: AnyObject {
  /// Sends the response to a request, unless the client has given up.
  func respond(_ response: LoopbackResponse, to request: LoopbackRequest)
}

/// A value that tasks of a simulation carry although it is not `Sendable`.
struct Confined<Value>: @unchecked Sendable {
  // Sendable because all tasks of a simulation run on one thread.
  let value: Value

  init(_ value: Value) { self.value = value }
}
