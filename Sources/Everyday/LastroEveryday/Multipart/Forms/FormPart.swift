// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro
internal import LastroWire

/// A part of a form, as it was added.
struct FormPart: Sendable {
  var name: String
  var filename: String?
  var fields: RawHeaders = [:]
  var body: RequestBody

  /// Fields that the form itself writes, or that a part of a form must not have (RFC 7578 §4.7, §4.8).
  private static let forbidden = [
    "content-disposition", "content-type", "content-transfer-encoding", "content-length", "transfer-encoding",
  ]

  static func normalized(_ text: String) -> String { FormPartHead.normalized(text) }

  /// Returns the validated head.
  func head() throws(TransportError) -> FormPartHead {
    let place = "the part \"\(name.prefix(40).escapedForDisplay)\" of the form"
    for field in fields.fields where Self.forbidden.contains(field.name.lowercased()) {
      throw .refused(
        .invalidHeader, "\(place) has the field \(field.name)",
        hint: "leave it out: a part's fields follow from its name, file name and type")
    }
    guard body.trailers == nil else {
      throw .refused(.invalidBody, "\(place) has trailers", hint: "give them to the request's body")
    }
    let type = body.contentType ?? (filename == nil ? nil : "application/octet-stream")
    var checked: RawHeaders = [:]
    if let type { checked.append(.contentType, type) }
    let contentType = try checked.checkedFields().first?.value
    return FormPartHead(
      name: name, filename: filename, contentType: contentType,
      fields: try fields.checkedFields().map { ResponseHead.Field(name: $0.name.rawName, value: $0.value) })
  }
}
