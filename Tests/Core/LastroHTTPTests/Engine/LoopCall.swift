// SPDX-License-Identifier: Apache-2.0

import LastroTesting

@testable import LastroHTTP

/// Runs a closure on a loop's thread.
struct LoopCall: GuestCommand {
  let body: @Sendable () -> Void

  func perform(on loop: LoopCore) { body() }
}

extension EnginePort {
  /// The bytes that were written on all connections and that their links have not reported as delivered.
  var unacknowledgedBytes: Int {
    get async throws {
      let found = EventRecorder<Int>()
      let call = LoopCall { [engine] in
        let connections = engine.core?.connections.all ?? []
        found.record(connections.reduce(0) { $0 + $1.unacknowledgedBytes })
      }
      _ = loop.post(call)
      return try await found.waitForEvents(count: 1)[0]
    }
  }
}
