// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// The scenarios of the fault tests, recorded and replayed.
@Suite("Replaying faults", .ownThread, .timeLimit(.minutes(15)))
struct FaultReplayTests {
  static let faults =
    HeadFaultTests.statusLines + HeadFaultTests.fields + HeadFaultTests.floods + BodyFramingFaultTests.truncations
    + BodyFramingFaultTests.excesses + BodyFramingFaultTests.badChunks + BodyFramingFaultTests.conflicts
  static let codings = CompressionFaultTests.faults

  @Test("The ledger of a hostile answer is the same when the engine reads the recorded bytes", arguments: faults)
  func hostile(_ fault: Fault) async throws {
    try await expectEqual(fault, onEngine: true)
  }

  @Test("The ledger of a broken content coding is the same", arguments: codings)
  func coded(_ fault: Fault) async throws {
    try await expectEqual(fault, onEngine: false)
  }

  private func expectEqual(_ fault: Fault, onEngine: Bool) async throws {
    let server = try faultServer(fault)
    let calls = try RecordedCalls()
    let stack = try calls.stack()
    do {
      _ = try await stack.send(fault.method, server.baseURL + "/fault")
    } catch {
      #expect(!error.ledger.attempts.isEmpty)
    }
    try await calls.expectEqualReplay(onEngine: onEngine)
    // The next call finds the connection as the fault has left it.
    _ = try await stack.send(.get, server.baseURL + "/ok")
    try await calls.expectEqualReplay()
  }
}
