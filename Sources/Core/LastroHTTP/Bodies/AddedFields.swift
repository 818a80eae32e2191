// SPDX-License-Identifier: Apache-2.0

/// The header fields that are added to requests, in addition to those that HTTP requires.
package struct AddedFields: Sendable {
  /// The value of `User-Agent` for a request that has none; `nil` to send none.
  var userAgent: String?
  /// Whether `Accept: */*` is sent with a request that has no `Accept`.
  var sendsAccept = false
  /// The value of `Accept-Encoding` for a request that has neither this field nor `Range`; `nil` to send none.
  var acceptEncoding: String?

  package static let none = Self()
}
