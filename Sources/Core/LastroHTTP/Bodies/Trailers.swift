// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import Lastro
package import LastroWire

extension HTTPFields {
  /// Creates the trailers of a response, which were checked by a machine.
  package init(trailers: [ResponseHead.Field]) { self.init(trailers.compactMap { try? HTTPField($0) }) }
}

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

extension TransferRequest {
  /// Reports an interim response to a caller that observes them, other than 100 and 101.
  func report(interim head: ResponseHead) {
    guard let onInterimResponse, head.status != 100, head.status != 101, let response = try? HTTPResponse(head) else {
      return
    }
    onInterimResponse(response)
  }
}
