// SPDX-License-Identifier: Apache-2.0

import Lastro

extension RandomSource {
  /// Returns a random time with a mean in seconds, as between the calls of many independent callers.
  func exponential(_ mean: Double) -> Duration { .seconds(-mean * Self.logarithm(1 - unit())) }

  /// Returns ln x for 0 < x ≤ 1, with operations alone that give the same result on every machine.
  private static func logarithm(_ x: Double) -> Double {
    var mantissa = x
    var exponent = 0.0
    while mantissa < 0.75 {
      mantissa *= 2
      exponent -= 1
    }
    let y = (mantissa - 1) / (mantissa + 1)
    var power = y
    var sum = 0.0
    var term = 1.0
    while term <= 21 {
      sum += power / term
      power *= y * y
      term += 2
    }
    return 2 * sum + exponent * 0.693147180559945309
  }
}
