// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import LastroWire

extension HTTPField {
  /// Makes a field from a received one.
  ///
  /// - Throws: stage `response`, code `malformed_response`, if the name is not a valid field name. The response is
  ///   refused because recipients that skip such a field would see a different response from those that accept it.
  package init(_ field: ResponseHead.Field) throws(TransportError) {
    guard let name = HTTPField.Name(field.name) else {
      throw HeadViolation(.fieldName, "the name of a response field is not valid").transportError
    }
    self.init(name: name, value: field.value)
  }
}

extension HTTPResponse {
  /// Makes a response from a received head.
  ///
  /// - Throws: stage `response`, code `malformed_response`, if a field's name is not valid.
  package init(_ head: ResponseHead) throws(TransportError) {
    var fields: [HTTPField] = []
    fields.reserveCapacity(head.fields.count)
    for field in head.fields { fields.append(try HTTPField(field)) }
    self.init(status: Status(code: head.status, reasonPhrase: head.reason), headerFields: HTTPFields(fields))
  }
}
