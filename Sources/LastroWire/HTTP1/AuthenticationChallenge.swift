// SPDX-License-Identifier: Apache-2.0

/// One challenge of a `WWW-Authenticate` field, or the values of an `Authentication-Info` one (RFC 9110 §11).
package struct AuthenticationChallenge: Sendable, Hashable {
  /// One parameter, its value without quotes and escapes.
  package struct Parameter: Sendable, Hashable {
    /// Lower case.
    package var name: String
    package var value: String
  }

  /// The scheme in lower case, such as `digest`; empty for `Authentication-Info`.
  package var scheme: String
  /// The value of a scheme that has one instead of parameters, such as `negotiate`.
  package var token68: String?
  /// In order.
  package var parameters: [Parameter] = []

  /// The value of a parameter; `nil` where it is missing.
  package subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

  /// Whether a parameter comes twice, which RFC 9110 §11.2 forbids: two recipients could take different ones.
  package var hasDuplicates: Bool { Set(parameters.map(\.name)).count != parameters.count }

  /// The challenges of one field's value; none of one longer than `limit` bytes.
  package static func read(_ value: String, limit: Int = ChallengeParser.limit) -> [Self] {
    var parser = ChallengeParser(value, limit: limit)
    return parser.challenges()
  }

  /// The values of an `Authentication-Info` field (RFC 7615): a list of parameters and nothing else.
  package static func information(in value: String) -> Self? {
    // A scheme in front makes a challenge of it; one without parameters to that name is malformed as ever.
    var parser = ChallengeParser("info " + value)
    let read = parser.challenges()
    guard read.count == 1, var information = read.first, information.token68 == nil else { return nil }
    information.scheme = ""
    return information
  }
}
