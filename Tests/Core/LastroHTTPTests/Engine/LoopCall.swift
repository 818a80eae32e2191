// SPDX-License-Identifier: Apache-2.0

@testable import LastroHTTP

/// Runs a closure on a loop's thread.
struct LoopCall: GuestCommand {
  let body: @Sendable () -> Void

  func perform(on loop: LoopCore) { body() }
}
