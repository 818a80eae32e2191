// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport
import Synchronization

/// What bounds the retries to one origin, of all calls together, so that an outage does not become a storm.
///
/// Each origin has a bucket of tokens, full at first. A retry pays when a server's distress may have caused it; a call
/// that succeeds after a retry gets back what its last retry paid, one that succeeds at once puts in a single token; an
/// answer that shows no distress, such as a 404, counts as a success. When a bucket is empty, failures end their calls
/// at once. At the defaults some 35 retries without one success do that; a service whose calls succeed has them back
/// soon.
///
/// Share one among stacks that call the same servers. Any thread may use it. Full buckets take no memory: what stays is
/// one number for each origin that failed and has not recovered.
public final class RetryQuota: Sendable {
  /// Most tokens of an origin.
  public let capacity: Int
  /// What a retry costs after a failure without an answer, or a 5xx one.
  public let cost: Int
  /// What a retry costs after the server asked for patience: 429, or 503 with `Retry-After`.
  public let throttledCost: Int

  /// How far each bucket that is not full is from it.
  private let spent = Lock<[Origin: Int]>([:])
  /// Number of buckets that are not full, so that successes need no lock while all is well.
  private let open = Atomic(0)

  /// Makes a quota. The defaults are those of the AWS SDKs' standard mode.
  ///
  /// - Parameters:
  ///   - capacity: most tokens of an origin. Default 500.
  ///   - cost: of a retry. Default 14.
  ///   - throttledCost: of a retry after the server asked for patience. Default 5.
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

  /// A new quota with the defaults.
  public static func standard() -> RetryQuota { RetryQuota(unchecked: 500, cost: 14, throttledCost: 5) }

  /// Tokens left for an origin.
  public func tokens(of origin: Origin) -> Int { spent.withLock { capacity - ($0[origin] ?? 0) } }

  /// Pays for a retry.
  ///
  /// - Returns: what is left; `nil` when there was not enough, and nothing was paid.
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

  /// Gives tokens back, up to the capacity.
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
