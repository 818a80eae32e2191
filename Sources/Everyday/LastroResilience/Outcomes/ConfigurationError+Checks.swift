// SPDX-License-Identifier: Apache-2.0

import Lastro

extension ConfigurationError {
  static func check(
    _ name: String, _ value: Int, atLeast minimum: Int, atMost maximum: Int = .max
  ) throws(ConfigurationError) {
    guard value >= minimum else {
      throw Self("\(name) is \(value), below the minimum of \(minimum)", hint: "give \(minimum) or more")
    }
    guard value <= maximum else {
      throw Self("\(name) is \(value), above the maximum of \(maximum)", hint: "give \(maximum) or less")
    }
  }

  static func check(_ name: String, _ value: Duration, atLeast minimum: Duration) throws(ConfigurationError) {
    guard value >= minimum else {
      throw Self(
        "\(name) is \(value.brief), below the minimum of \(minimum.brief)", hint: "give \(minimum.brief) or more")
    }
    // Limit durations so that their sums cannot overflow.
    guard value <= .seconds(1_000_000_000) else {
      throw Self("\(name) is \(value.brief), above the maximum of 1000000000 s", hint: "give less than thirty years")
    }
  }

  static func check(ratio name: String, _ value: Double) throws(ConfigurationError) {
    guard value > 0, value <= 1 else {
      throw Self("\(name) is \(value), which is not a valid share", hint: "give more than 0, and at most 1")
    }
  }
}
