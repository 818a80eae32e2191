// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Lastro
internal import LastroWire

extension RequestBody {
  /// Returns the trailers to send, after the last chunk was given. Calls the caller's closure.
  ///
  /// - Throws: stage `request`, code `invalid_header`, for a field that cannot be sent, or that is allowed only in a
  ///   head (RFC 9110 §6.5.1); any error of the closure.
  func trailerFields() async throws -> [ResponseHead.Field] {
    guard let fields = try await trailers?().checkedFields() else { return [] }
    return try fields.map { field in
      let name = field.name.canonicalName
      guard !TrailerNames.areForbiddenInRequests(name) else { throw TransportError.cannotTrail(name) }
      return ResponseHead.Field(name: field.name.rawName, value: field.value)
    }
  }
}

extension TransportError {
  package static func cannotTrail(_ name: String) -> Self {
    .refused(
      .invalidHeader, "the field \(name) is valid only in a head, and not as a trailer",
      hint: "send it in the head, or leave it out")
  }
}
