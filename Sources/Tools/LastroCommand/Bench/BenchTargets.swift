// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lastro

/// The order in which the URLs of a run are requested.
struct BenchTargets {
  /// The index of each request's URL.
  let order: [Int]
  /// The number of distinct origins in the order.
  let origins: Int

  /// Draws the URLs of a run by Zipf's law: the URL in place `k` has the weight `1 / k^exponent`.
  ///
  /// - Parameters:
  ///   - origins: the origins of the URLs.
  ///   - requests: the number of draws.
  ///   - exponent: Zipf's exponent; with 0 all URLs have the same weight.
  ///   - seed: the seed; the same seed gives the same order.
  init(_ origins: [Origin?], requests: Int, exponent: Double, seed: UInt64) {
    let random = RandomSource.seeded(seed)
    var sums: [Double] = []
    var sum = 0.0
    for place in origins.indices {
      sum += pow(Double(place + 1), -exponent)
      sums.append(sum)
    }
    order = (0..<requests).map { _ in
      let drawn = random.unit() * sum
      var (low, high) = (0, sums.count - 1)
      while low < high {
        let middle = (low + high) / 2
        if sums[middle] > drawn { high = middle } else { low = middle + 1 }
      }
      return low
    }
    self.origins = Set(Set(order).map { origins[$0] }).count
  }

  /// Returns the share of requests that reused a connection, of those that could, from 0 to 1:
  /// `1 − (opened − origins) / (requests − origins)`; `nil` if no request could.
  static func reuse(opened: Int, origins: Int, requests: Int) -> Double? {
    guard requests > origins else { return nil }
    return max(0, 1 - Double(opened - origins) / Double(requests - origins))
  }
}
