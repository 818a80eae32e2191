// SPDX-License-Identifier: Apache-2.0

/// A rule of HTTP that a request would violate. The request is not sent.
package typealias RequestViolation = WireViolation<RequestFault>

/// The kinds of violations of a request.
package enum RequestFault: Equatable, Sendable {
  case method
  case target
  case fieldName
  case fieldValue
  case host
  case framing
  /// The body does not match its framing.
  case body
  case trailer
}
