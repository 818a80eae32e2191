// SPDX-License-Identifier: Apache-2.0

extension Retry {
  /// How delays grow, and when they end.
  public enum Backoff: Sendable {
    /// Gives the delay of a retry; `retry` is 1 for the first.
    public typealias Scale = @Sendable (_ baseDelay: Delay, _ retry: Retries) -> Delay

    /// When to stop.
    public enum Truncation: Sendable, Hashable, CustomStringConvertible {
      /// After so many retries.
      case maxRetries(Retries)
      /// When the delays made so far sum up to this one. It looks back only, so that the last delay may overshoot; an
      /// exponential delay is capped at this value.
      case maxDelay(Delay)
      /// Before the delays would sum up to more than this one: a budget that is never overshot.
      case budget(Delay)

      /// In a few words, such as `3 retries`.
      public var description: String {
        switch self {
        case .maxRetries(let limit): "\(limit) retries"
        case .maxDelay(let limit): "\(limit.brief) of delay"
        case .budget(let limit): "a budget of \(limit.brief) of delay"
        }
      }
    }

    /// The same delay every time.
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
      if case .budget(let limit) = truncation, max(delay, .zero) > limit - state.totalDelay {
        return .noRetry(.delay(limit))
      }
      return .retryAfter(delay)
    }

    private func delay(ofRetry retry: Retries, until truncation: Truncation) -> Delay {
      switch self {
      case .constant(let delay, _): return delay
      case .exponential(let base, let scale, _):
        let scaled = scale(base, retry)
        if case .maxDelay(let limit) = truncation { return min(scaled, limit) }
        return scaled
      }
    }
  }
}

extension Retry.Backoff {
  /// `baseDelay · 2^(retry - 1)`, without jitter; from the thirty-second retry on as for the thirty-first.
  public static let doubling: Scale = { base, retry in
    min(max(base, .zero), Retry.longestDelay) * (1 << min(max(retry, 1) - 1, 30))
  }

  /// A scale that computes with seconds as numbers. What is not a number counts as the longest delay, which a
  /// truncation then cuts; see ``Retry/seconds(_:)`` for the others.
  public static func scale(
    inSeconds scale: @escaping @Sendable (_ baseDelay: Double, _ retry: Retry.Retries) -> Double
  ) -> Scale {
    { base, retry in
      let seconds = scale(base.inSeconds, retry)
      return seconds.isNaN ? Retry.longestDelay : Retry.seconds(seconds)
    }
  }

  /// Full jitter: a random delay from zero up to `min(cap, baseDelay · 2^(retry - 1))`, so that clients that failed
  /// together do not come back together.
  ///
  /// - Parameters:
  ///   - cap: longest delay. Default 20 s.
  ///   - random: where randomness comes from.
  public static func fullJitter(cap: Retry.Delay = .seconds(20), random: RandomSource = .system) -> Scale {
    { base, retry in min(cap, doubling(base, retry)) * random.unit() }
  }
}
