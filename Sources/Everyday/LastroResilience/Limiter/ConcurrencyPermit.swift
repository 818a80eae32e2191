// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

/// A permit for one attempt, from a ``ConcurrencyLimiter``. It cannot be copied, and is returned automatically if it is
/// dropped.
package struct ConcurrencyPermit: ~Copyable, Sendable {
  let limiter: ConcurrencyLimiter
  let key: ResilienceKey
  let place: ConcurrencyLimiter.Place
  /// The grant behind the permit; `nil` once it was returned.
  var grant: LimiterMachine.Grant?

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
