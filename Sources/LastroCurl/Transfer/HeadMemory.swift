// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// Puts checked heads into the shared vocabulary, and remembers the latest: a server's answers are much alike, and what
/// was the same last time need not be made again.
struct HeadMemory {
  private var head: ResponseHead?
  private var response: HTTPResponse?

  mutating func response(_ head: ResponseHead) throws(TransportError) -> HTTPResponse {
    if let response, let known = self.head, known == head { return response }
    let known = response?.headerFields ?? HTTPFields()
    var fields: [HTTPField] = []
    fields.reserveCapacity(head.fields.count)
    for (index, field) in head.fields.enumerated() {
      fields.append(try Self.field(field, resembling: index < known.count ? known[index] : nil))
    }
    let response = HTTPResponse(
      status: HTTPResponse.Status(code: head.status, reasonPhrase: head.reason), headerFields: HTTPFields(fields))
    // An unusual one is not worth its memory.
    let isSmall = head.fields.count <= 32 && head.fields.allSatisfy { $0.value.utf8.count <= 256 }
    self.head = isSmall ? head : nil
    self.response = isSmall ? response : nil
    return response
  }

  private static func field(
    _ field: ResponseHead.Field, resembling known: HTTPField?
  ) throws(TransportError) -> HTTPField {
    if let known, known.name.rawName == field.name {
      return known.value == field.value ? known : HTTPField(name: known.name, value: field.value)
    }
    guard let name = HTTPField.Name(field.name) else {
      throw TransportError(
        stage: .response, code: .malformedResponse, message: "a response field has no valid name", requestSent: true)
    }
    return HTTPField(name: name, value: field.value)
  }
}
