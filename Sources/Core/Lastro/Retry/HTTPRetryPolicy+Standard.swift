// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension Retry.Policy where Metadata == HTTPRetryMetadata {
  /// Makes three attempts in total, with full jitter. The delays are random, up to 50 ms, then up to 100 ms; after 429,
  /// or 503 with `Retry-After`, up to 1 s, then up to 2 s. The numbers are those of the AWS SDKs' standard mode.
  public static let standard = standard(
    retries: 2, baseDelay: .milliseconds(50), throttledBaseDelay: .seconds(1), cap: .seconds(20), random: .system)

  /// Returns the standard policy with other numbers. The delay of retry number `n` is random, from zero up to
  /// `min(cap, base · 2^(n - 1))`.
  ///
  /// - Parameters:
  ///   - attempts: the maximum number of attempts, including the first. Default 3.
  ///   - baseDelay: the base of delays. Default 50 ms.
  ///   - throttledBaseDelay: the base of delays after 429, and after 503 with `Retry-After`. Default 1 s.
  ///   - cap: the longest delay. Default 20 s.
  ///   - random: the source of randomness. Default: the system's.
  /// - Throws: ``ConfigurationError`` for fewer than one attempt, or a negative delay.
  public static func standard(
    attempts: Int, baseDelay: Retry.Delay = .milliseconds(50), throttledBaseDelay: Retry.Delay = .seconds(1),
    cap: Retry.Delay = .seconds(20), random: RandomSource = .system
  ) throws(ConfigurationError) -> Self {
    guard attempts >= 1 else {
      throw ConfigurationError(
        "the retry policy has \(attempts) attempts, below the minimum of 1",
        hint: "give 1 or more, including the first attempt")
    }
    for (name, value) in [("baseDelay", baseDelay), ("throttledBaseDelay", throttledBaseDelay), ("cap", cap)] {
      guard value >= .zero else {
        throw ConfigurationError(
          "the retry policy's \(name) is \(value.brief), below the minimum of 0", hint: "give 0 s or more")
      }
    }
    return standard(
      retries: attempts - 1, baseDelay: baseDelay, throttledBaseDelay: throttledBaseDelay, cap: cap, random: random)
  }

  private static func standard(
    retries: Int, baseDelay: Retry.Delay, throttledBaseDelay: Retry.Delay, cap: Retry.Delay, random: RandomSource
  ) -> Self {
    let scale = Retry.Backoff.fullJitter(cap: cap, random: random)
    return .custom { _, state, metadata in
      guard state.retryCount < retries else { return .noRetry(.retries(retries)) }
      let base = isThrottled(metadata.response) ? throttledBaseDelay : baseDelay
      return .retryAfter(scale(base, state.retryCount + 1))
    }
  }
}

/// Returns whether the server asked the client to slow down.
private func isThrottled(_ response: ResourceResponse?) -> Bool {
  switch response?.status.code {
  case 429: true
  case 503: response?.headerFields[.retryAfter] != nil
  default: false
  }
}
