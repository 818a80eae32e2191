// SPDX-License-Identifier: Apache-2.0

/// The header fields that are added to requests, in addition to those that HTTP requires.
package struct AddedFields: Sendable {
  /// The value of `User-Agent` for a request that has none; `nil` to send none.
  var userAgent: String?
  /// Whether `Accept: */*` is sent with a request that has no `Accept`.
  var sendsAccept = false
  /// Whether content codings are asked for, unless the request sets `Accept-Encoding` or `Range`.
  var decompresses = false

  package static let none = Self()
}
