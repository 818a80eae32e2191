// SPDX-License-Identifier: Apache-2.0

internal import Lastro

extension RandomSource {
  /// Returns a random number below a bound, which is at least 1.
  func number(below bound: Int) -> Int { Int(truncatingIfNeeded: next() % UInt64(max(1, bound))) }
}
