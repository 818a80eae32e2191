// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import LastroWire

extension HTTPField {
  /// A field as it came.
  ///
  /// - Throws: stage `response`, code `malformed_response`, for a name that no field can have: the answer is refused,
  ///   for one that leaves the field out sees another answer than one that takes it.
  package init(_ field: ResponseHead.Field) throws(TransportError) {
    guard let name = HTTPField.Name(field.name) else {
      throw HeadViolation(.fieldName, "the name of a response field is not valid").transportError
    }
    self.init(name: name, value: field.value)
  }
}

extension HTTPResponse {
  /// A head as it came, in the shared vocabulary.
  ///
  /// - Throws: stage `response`, code `malformed_response`, for a field that cannot be.
  package init(_ head: ResponseHead) throws(TransportError) {
    var fields: [HTTPField] = []
    fields.reserveCapacity(head.fields.count)
    for field in head.fields { fields.append(try HTTPField(field)) }
    self.init(status: Status(code: head.status, reasonPhrase: head.reason), headerFields: HTTPFields(fields))
  }
}
