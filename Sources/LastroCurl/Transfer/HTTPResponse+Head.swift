// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

extension HTTPResponse {
  /// A checked head in the shared vocabulary.
  init(_ head: ResponseHead) throws(TransportError) {
    var fields = HTTPFields()
    fields.reserveCapacity(head.fields.count)
    for field in head.fields {
      guard let name = HTTPField.Name(field.name) else {
        throw TransportError(
          stage: .response, code: .malformedResponse, message: "a response field has no valid name", requestSent: true)
      }
      fields.append(HTTPField(name: name, value: field.value))
    }
    self.init(status: Status(code: head.status, reasonPhrase: head.reason), headerFields: fields)
  }
}
