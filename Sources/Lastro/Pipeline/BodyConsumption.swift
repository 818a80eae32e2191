// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Watches over a body that can be read only once: it is opened, or it is given up for a retry, never both.
final class BodyConsumption: Sendable {
  private static let fresh: UInt8 = 0
  private static let opened: UInt8 = 1
  private static let sealed: UInt8 = 2

  private let state = Atomic(fresh)

  /// Takes the body from the attempt it was given to: from now on that can no longer open it.
  ///
  /// - Returns: false when it has been opened, so that it cannot be sent again.
  func seal() -> Bool {
    let before = state.compareExchange(
      expected: Self.fresh, desired: Self.sealed, ordering: .acquiringAndReleasing
    ).original
    return before != Self.opened
  }

  /// The same body, watched.
  func watching(_ body: RequestBody) -> RequestBody {
    guard case .stream(let length, false, let open) = body.source else { return body }
    let source = RequestBody.Source.stream(length: length, isReplayable: false) {
      let before = self.state.compareExchange(
        expected: Self.fresh, desired: Self.opened, ordering: .acquiringAndReleasing
      ).original
      // A transfer that ended may still come to open it, when the body belongs to the next attempt already.
      guard before != Self.sealed else { return { throw CancellationError() } }
      return open()
    }
    return RequestBody(source: source, contentType: body.contentType, secrets: body.secrets, trailers: body.trailers)
  }
}
