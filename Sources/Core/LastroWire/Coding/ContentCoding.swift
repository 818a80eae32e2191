// SPDX-License-Identifier: Apache-2.0

/// A content coding (RFC 9110 §8.4.1).
package enum ContentCoding: Equatable, Sendable {
  /// The gzip format (RFC 1952), also known as `x-gzip`.
  case gzip
  /// The zlib format (RFC 1950), or bare deflate data (RFC 1951), which some servers send instead.
  case deflate
  /// A coding that is not supported here, in lower case.
  case other(String)

  /// The value of `Accept-Encoding` that lists the supported codings.
  package static let offer = "gzip, deflate"

  init(_ name: String) {
    switch name {
    case "gzip", "x-gzip": self = .gzip
    case "deflate": self = .deflate
    default: self = .other(name)
    }
  }

  /// Returns the codings of a response's body in the order in which they were applied, without those that have no
  /// effect.
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
