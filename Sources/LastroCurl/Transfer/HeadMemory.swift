// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// Puts checked heads into the shared vocabulary, and remembers the latest: a server's answers are much alike, and what
/// was the same last time need not be made again.
struct HeadMemory {
  /// The latest head, for the next to be compared with.
  private(set) var latest: KnownHead?
  /// What it was made into.
  private var response: HTTPResponse?

  /// - Parameter known: what may be kept of `head`.
  mutating func response(_ head: ResponseHead, known: KnownHead?) throws(TransportError) -> HTTPResponse {
    if let known, known === latest, let response { return response }
    let old = response?.headerFields ?? HTTPFields()
    var fields: [HTTPField] = []
    fields.reserveCapacity(head.fields.count)
    for (index, field) in head.fields.enumerated() {
      fields.append(try Self.field(field, resembling: index < old.count ? old[index] : nil))
    }
    let response = HTTPResponse(
      status: HTTPResponse.Status(code: head.status, reasonPhrase: head.reason), headerFields: HTTPFields(fields))
    latest = known
    self.response = known == nil ? nil : response
    return response
  }

  private static func field(
    _ field: ResponseHead.Field, resembling known: HTTPField?
  ) throws(TransportError) -> HTTPField {
    if let known, known.name.rawName == field.name {
      return known.value == field.value ? known : HTTPField(name: known.name, value: field.value)
    }
    return try HTTPField(field)
  }
}
