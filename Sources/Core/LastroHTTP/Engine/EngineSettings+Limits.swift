// SPDX-License-Identifier: Apache-2.0

package import Lastro

extension EngineSettings {
  /// Checks the limits that the configurations of all transports share. Errors use the names that the configurations
  /// give them.
  ///
  /// - Parameter limits: the further limits of a configuration by their names, which are at least 1. Default none.
  package func check(positive limits: KeyValuePairs<String, Int> = [:]) throws(ConfigurationError) {
    let positive: KeyValuePairs = [
      "connectionsPerHost": connectionsPerHost, "maximumHeadBytes": maximumHeadBytes,
      "maximumHeaderFields": maximumHeaderFields, "maximumDecompressionRatio": maximumDecompressionRatio,
      "streamBufferBytes": streamBufferBytes, "maximumContentCodings": maximumContentCodings,
      "maximumWindowBytes": maximumWindowBytes,
    ]
    let notNegative: KeyValuePairs = [
      "maximumQueuedRequests": maximumQueuedRequests, "maximumInterimResponses": maximumInterimResponses,
      "idleConnections": idleConnections,
    ]
    for (minimum, values) in [(1, limits), (1, positive), (0, notNegative)] {
      for (name, value) in values where value < minimum {
        throw ConfigurationError(
          "\(name) is \(value), below the minimum of \(minimum)", hint: "give \(minimum) or more")
      }
    }
    guard maximumContentCodings <= 8 else {
      throw ConfigurationError(
        "maximumContentCodings is \(maximumContentCodings), above the maximum of 8",
        hint: "give 1 to 8: servers apply one")
    }
    if codings.isEmpty {
      throw ConfigurationError(
        "codings is empty", hint: "give at least one coding, or set decompresses to false to ask for none")
    }
    let names = codings.map(\.name)
    if let name = names.first(where: { name in names.count { $0 == name } > 1 }) {
      throw ConfigurationError("codings has \(name) twice", hint: "list each coding once, the preferred one first")
    }
    let lifetimes: KeyValuePairs = ["idleLifetime": idleLifetime, "connectionLifetime": connectionLifetime]
    for (name, value) in lifetimes where value < .seconds(1) {
      throw ConfigurationError(
        "\(name) is \(value.brief), below the minimum of 1 s", hint: "give a second or more")
    }
    if let userAgent, userAgent.utf8.contains(where: \.isControl) {
      throw ConfigurationError(
        "userAgent has a control character in it", hint: "remove it: CR and LF would start another header field")
    }
  }
}
