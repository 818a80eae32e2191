// SPDX-License-Identifier: Apache-2.0

package import Lastro

extension ConfigurationError {
  /// Checks the limits that the configurations of all transports share. Errors use the given names of the properties.
  package static func checkLimits(
    positive: KeyValuePairs<String, Int>, notNegative: KeyValuePairs<String, Int>, contentCodings: Int,
    lifetimes: KeyValuePairs<String, Duration>, userAgent: String?
  ) throws(ConfigurationError) {
    for (minimum, values) in [(1, positive), (0, notNegative)] {
      for (name, value) in values where value < minimum {
        throw Self("\(name) is \(value), below the minimum of \(minimum)", hint: "give \(minimum) or more")
      }
    }
    guard contentCodings <= 8 else {
      throw Self(
        "maximumContentCodings is \(contentCodings), above the maximum of 8", hint: "give 1 to 8: servers apply one")
    }
    for (name, value) in lifetimes where value < .seconds(1) {
      throw Self("\(name) is \(value.brief), below the minimum of 1 s", hint: "give a second or more")
    }
    if let userAgent, userAgent.utf8.contains(where: \.isControl) {
      throw Self(
        "userAgent has a control character in it", hint: "remove it: CR and LF would start another header field")
    }
  }
}
