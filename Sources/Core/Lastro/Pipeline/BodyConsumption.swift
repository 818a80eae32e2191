// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Guards a body that can be read only once. The body is either opened, or withdrawn for a retry, but never both.
final class BodyConsumption: Sendable {
  private static let fresh: UInt8 = 0
  private static let opened: UInt8 = 1
  private static let sealed: UInt8 = 2

  private let state = Atomic(fresh)

  /// Withdraws the body from the attempt that has it: afterwards that attempt can no longer open it.
  ///
  /// - Returns: `false` if the body has already been opened, so that it cannot be sent again.
  func seal() -> Bool {
    let before = state.compareExchange(
      expected: Self.fresh, desired: Self.sealed, ordering: .acquiringAndReleasing
    ).original
    return before != Self.opened
  }

  /// Returns the same body with this guard.
  func watching(_ body: RequestBody) -> RequestBody {
    guard case .stream(let length, false, let open) = body.source else { return body }
    let source = RequestBody.Source.stream(length: length, isReplayable: false) {
      let before = self.state.compareExchange(
        expected: Self.fresh, desired: Self.opened, ordering: .acquiringAndReleasing
      ).original
      // A transfer that has ended may still try to open the body after it was withdrawn for the next attempt.
      guard before != Self.sealed else { return { throw CancellationError() } }
      return open()
    }
    return RequestBody(source: source, contentType: body.contentType, secrets: body.secrets, trailers: body.trailers)
  }
}
