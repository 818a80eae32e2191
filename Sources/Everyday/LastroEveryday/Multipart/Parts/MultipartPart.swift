// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Lastro
internal import LastroWire

/// A part of a multipart response (RFC 2046 §5.1).
public struct MultipartPart: Sendable {
  /// The fields of the part's head.
  public let fields: HTTPFields
  /// The name in `Content-Disposition`.
  public let name: String?
  /// The file name in `Content-Disposition`, as the server wrote it: do not trust it as a path.
  public let filename: String?
  /// The positions of the first and the last byte in the whole representation, by `Content-Range` (RFC 9110 §14.4);
  /// every part of `multipart/byteranges` has them. Ranges may come in any order, and overlap. The length of the whole
  /// representation is in the same field, if the server knows it.
  public let byteRange: ClosedRange<Int64>?
  /// The body, which must be read before the next part is requested. An unread body is skipped: reading it afterwards
  /// throws stage `request` with code `invalid_body`.
  public let body: ResponseBody

  init(_ lines: [ResponseHead.Field], body: ResponseBody) throws(TransportError) {
    var fields = HTTPFields()
    for line in lines { fields.append(try HTTPField(line)) }
    let disposition = fields[.contentDisposition].map(Disposition.init)
    self.fields = fields
    name = disposition?.name
    filename = disposition?.filename
    byteRange = fields[.contentRange].flatMap { ContentRange($0) }.flatMap { range in
      range.bytes.map { ClosedRange($0) }
    }
    self.body = body
  }
}

/// The relevant parameters of `Content-Disposition`.
private struct Disposition {
  let name: String?
  let filename: String?

  init(_ value: String) {
    let isForm = value.lowercased().drop { $0 == " " }.hasPrefix("form-data")
    // Forms are escaped as browsers do, other parts as RFC 6266 specifies.
    guard let disposition = ParameterizedValue(value, escapes: !isForm) else {
      (name, filename) = (nil, nil)
      return
    }
    let parameters = disposition.parameters
    let undo = { (text: String) in isForm ? Self.unescaped(text) : text }
    name = parameters["name"].map(undo)
    filename = parameters["filename*"].flatMap(Self.extended) ?? parameters["filename"].map(undo)
  }

  /// Decodes the escapes of the HTML standard, and no others.
  private static func unescaped(_ text: String) -> String {
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      let escape = bytes[index...].prefix(3)
      if let byte = escapes.first(where: { escape.elementsEqual($0.key.utf8) })?.value {
        result.append(byte)
        index += 3
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static let escapes: KeyValuePairs<String, UInt8> = ["%22": 0x22, "%0D": 0x0D, "%0A": 0x0A]

  /// Decodes `UTF-8'en'a%20b` (RFC 8187). Returns `nil` for other charsets, which no server needs, and for control
  /// characters, which no valid file name contains and which could end a line or a C string.
  private static func extended(_ text: String) -> String? {
    let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].lowercased() == "utf-8", let bytes = parts[2].percentDecodedBytes else {
      return nil
    }
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}
