// SPDX-License-Identifier: Apache-2.0

/// A challenge of a `WWW-Authenticate` field, or the parameters of an `Authentication-Info` field (RFC 9110 §11).
package struct AuthenticationChallenge: Sendable, Hashable {
  /// The scheme in lower case, such as `digest`; empty for `Authentication-Info`.
  package var scheme: String
  /// The value of a scheme that has one instead of parameters, such as `negotiate`.
  package var token68: String?
  /// The parameters in their original order.
  package var parameters: [FieldParameter] = []

  /// The value of a parameter; `nil` if it is missing.
  package subscript(name: String) -> String? { parameters[name] }

  /// Whether a parameter is repeated, which RFC 9110 §11.2 forbids because recipients could use different values.
  package var hasDuplicates: Bool { Set(parameters.map(\.name)).count != parameters.count }

  /// Returns the challenges of a field value; none if it is longer than `limit` bytes.
  package static func read(_ value: String, limit: Int = ChallengeParser.limit) -> [Self] {
    var parser = ChallengeParser(value, limit: limit)
    return parser.challenges()
  }

  /// Returns the parameters of an `Authentication-Info` field (RFC 7615), which has no scheme. `nil` if it is
  /// malformed.
  package static func information(in value: String) -> Self? {
    // Prefix a scheme so that the text parses as a challenge. A value without parameters is still malformed.
    var parser = ChallengeParser("info " + value)
    let read = parser.challenges()
    guard read.count == 1, var information = read.first, information.token68 == nil else { return nil }
    information.scheme = ""
    return information
  }
}
