// SPDX-License-Identifier: Apache-2.0

/// A content coding (RFC 9110 §8.4.1).
package enum ContentCoding: Equatable, Sendable {
  /// RFC 1952; also under its old name, `x-gzip`.
  case gzip
  /// RFC 1950, and RFC 1951 without it, which servers send as well.
  case deflate
  /// One that is not undone here, in lower case.
  case other(String)

  /// The value of `Accept-Encoding` that asks for what can be undone.
  package static let offer = "gzip, deflate"

  init(_ name: String) {
    switch name {
    case "gzip", "x-gzip": self = .gzip
    case "deflate": self = .deflate
    default: self = .other(name)
    }
  }

  /// The codings of a response's body, in the order in which they were applied, without those that change nothing.
  package static func list(of head: ResponseHead) -> [ContentCoding] {
    var result: [ContentCoding] = []
    for field in head.fields where field.name.isASCII("content-encoding") {
      for part in field.value.lowercased().split(separator: ",") {
        let name = String(Substring(part.utf8.withoutSpaces))
        if !FieldSyntax.isNoContentCoding(name) { result.append(ContentCoding(name)) }
      }
    }
    return result
  }
}
