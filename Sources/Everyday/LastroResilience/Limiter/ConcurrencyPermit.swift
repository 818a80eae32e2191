// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// A permit for one attempt, from a ``ConcurrencyLimiter``. It cannot be copied, and is returned automatically if it is
/// dropped.
package struct ConcurrencyPermit: ~Copyable, Sendable {
  let key: ResilienceKey
  private let limiter: ConcurrencyLimiter
  private let place: ConcurrencyLimiter.Place
  /// The grant behind the permit; `nil` once it was returned.
  private var grant: LimiterMachine.Grant?

  init(
    limiter: ConcurrencyLimiter, key: ResilienceKey, place: ConcurrencyLimiter.Place, grant: LimiterMachine.Grant
  ) {
    self.key = key
    self.limiter = limiter
    self.place = place
    self.grant = grant
  }

  /// Returns the permit and reports a load sample.
  package consuming func end(_ load: LoadSample) { _ = ended(load) }

  /// - Returns: the state of the limiter after the permit was returned.
  consuming func ended(_ load: LoadSample) -> ConcurrencyLimiter.Snapshot? {
    guard let grant = grant.take() else { return nil }
    return limiter.end(place, grant, load)
  }

  deinit {
    if let grant { limiter.end(place, grant, .ignored) }
  }
}
