// SPDX-License-Identifier: Apache-2.0

extension Retry {
  /// How delays grow, and when they end.
  public enum Backoff: Sendable {
    /// Gives the delay, in seconds, of a retry; `retry` is 1 for the first.
    public typealias Scale = @Sendable (_ baseDelay: Delay, _ retry: Retries) -> Delay

    /// When to stop.
    public enum Truncation: Sendable, Hashable {
      /// After so many retries.
      case maxRetries(Retries)
      /// When the delays made so far sum up to so many seconds. It looks back only, so that the last delay may overshoot;
      /// an exponential delay is capped at this value.
      case maxDelay(Delay)
      /// Before the delays would sum up to more than so many seconds: a budget that is never overshot.
      case budget(Delay)
    }

    /// The same delay, in seconds, every time.
    case constant(delay: Delay, until: Truncation)
    /// A delay that grows with the number of retries.
    case exponential(baseDelay: Delay, scale: Scale, until: Truncation)

    func action(after state: State) -> Action {
      let truncation =
        switch self {
        case .constant(_, let until), .exponential(_, _, let until): until
        }
      switch truncation {
      case .maxRetries(let limit) where state.retryCount >= limit: return .noRetry(.retries(limit))
      case .maxDelay(let limit) where state.totalDelay >= limit: return .noRetry(.delay(limit))
      default: break
      }
      let delay = delay(ofRetry: state.retryCount + 1, until: truncation)
      if case .budget(let limit) = truncation, !(state.totalDelay + (delay < 0 ? 0 : delay) <= limit) {
        return .noRetry(.delay(limit))
      }
      return .retryAfter(delay)
    }

    private func delay(ofRetry retry: Retries, until truncation: Truncation) -> Delay {
      switch self {
      case .constant(let delay, _): return delay
      case .exponential(let base, let scale, _):
        let scaled = scale(base, retry)
        // `Double.minimum` gives the limit for a scale that is not a number.
        if case .maxDelay(let limit) = truncation { return Double.minimum(scaled, limit) }
        return scaled
      }
    }
  }
}

extension Retry.Backoff {
  /// `baseDelay · 2^(retry - 1)`, without jitter.
  public static let doubling: Scale = { base, retry in
    base * Double(sign: .plus, exponent: min(max(retry, 1) - 1, 1_000), significand: 1)
  }

  /// Full jitter: a random delay from zero up to `min(cap, baseDelay · 2^(retry - 1))`, so that clients that failed
  /// together do not come back together.
  ///
  /// - Parameters:
  ///   - cap: longest delay, in seconds.
  ///   - random: where randomness comes from.
  public static func fullJitter(cap: Retry.Delay = 20, random: RandomSource = .system) -> Scale {
    { base, retry in random.unit() * Double.minimum(cap, doubling(base, retry)) }
  }
}
