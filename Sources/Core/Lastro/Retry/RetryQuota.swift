// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport
import Synchronization

/// A limit on the retries to each origin, shared by all calls, so that an outage does not cause a flood of retries.
///
/// Each origin has a bucket of tokens, which is full at first. A retry is charged tokens if an overloaded server may
/// have caused the failure. A call that succeeds after a retry gets back the tokens of its last retry. A call that
/// succeeds at once adds one token. A response that does not indicate overload, such as a 404, counts as a success.
/// While a bucket has too few tokens, failures end their calls at once. With the defaults, this happens after some 35
/// retries without a success. A service whose calls succeed soon has a full bucket again.
///
/// Share a quota among stacks that call the same servers. It may be used on any thread. Full buckets use no memory: the
/// quota stores one number for each origin that failed and has not recovered.
public final class RetryQuota: Sendable {
  /// The maximum number of tokens of an origin.
  package let capacity: Int
  /// The cost of a retry after a failure without a usable response, or with a 408 or 5xx response.
  package let cost: Int
  /// The cost of a retry after the server asked the client to slow down: 429, or 503 with `Retry-After`.
  package let throttledCost: Int

  /// The number of tokens that are missing from each bucket that is not full.
  private let spent = Lock<[Origin: Int]>([:])
  /// The number of buckets that are not full, so that successes need no lock while all buckets are full.
  private let open = Atomic(0)

  /// Makes a quota. The defaults are those of the AWS SDKs' standard mode.
  ///
  /// - Parameters:
  ///   - capacity: the maximum number of tokens of an origin. Default 500.
  ///   - cost: the cost of a retry. Default 14.
  ///   - throttledCost: the cost of a retry after the server asked the client to slow down. Default 5.
  /// - Throws: ``ConfigurationError`` for a capacity below 1, or a negative cost.
  public convenience init(capacity: Int = 500, cost: Int = 14, throttledCost: Int = 5) throws(ConfigurationError) {
    guard capacity >= 1, cost >= 0, throttledCost >= 0 else {
      throw ConfigurationError(
        "a retry quota of capacity \(capacity) with costs \(cost) and \(throttledCost) cannot work",
        hint: "give a capacity of 1 or more, and costs of 0 or more")
    }
    self.init(unchecked: capacity, cost: cost, throttledCost: throttledCost)
  }

  private init(unchecked capacity: Int, cost: Int, throttledCost: Int) {
    self.capacity = capacity
    self.cost = cost
    self.throttledCost = throttledCost
  }

  /// Returns a new quota with the defaults.
  package static func standard() -> RetryQuota { RetryQuota(unchecked: 500, cost: 14, throttledCost: 5) }

  /// Returns the number of tokens left for an origin.
  package func tokens(of origin: Origin) -> Int { spent.withLock { capacity - ($0[origin] ?? 0) } }

  /// Charges the bucket of an origin for a retry.
  ///
  /// - Returns: the number of tokens left; `nil` if there were too few, and nothing was charged.
  func pay(_ amount: Int, for origin: Origin) -> Int? {
    spent.withLock { spent in
      let before = spent[origin] ?? 0
      guard amount <= capacity - before else { return nil }
      if amount > 0 {
        if before == 0 { open.add(1, ordering: .relaxed) }
        spent[origin] = before + amount
      }
      return capacity - before - amount
    }
  }

  /// Sets the number of tokens of an origin, as it was when a call was recorded.
  func set(_ tokens: Int, for origin: Origin) {
    let before = spent.withLock { spent in
      defer { spent[origin] = tokens < capacity ? capacity - tokens : nil }
      return spent[origin] ?? 0
    }
    if before == 0, tokens < capacity { open.add(1, ordering: .relaxed) }
    if before > 0, tokens >= capacity { open.subtract(1, ordering: .relaxed) }
  }

  /// Returns tokens to the bucket of an origin, up to the capacity.
  func refund(_ amount: Int, for origin: Origin) {
    spent.withLock { spent in
      guard let before = spent[origin] else { return }
      if before > amount {
        spent[origin] = before - amount
      } else {
        spent[origin] = nil
        open.subtract(1, ordering: .relaxed)
      }
    }
  }

  /// Whether every bucket is full.
  var isFull: Bool { open.load(ordering: .relaxed) == 0 }
}
