// SPDX-License-Identifier: Apache-2.0

/// The field `Content-Encoding` (RFC 9110 §8.4).
package enum ContentEncodingField {
  /// Returns the names of the codings of a response's body, in lower case and in the order in which they were applied.
  ///
  /// - Parameter isStrict: whether empty members and names that are not codings (`none`, `utf-8`, `aws-chunked`) are
  ///   returned as well. Default false: names without an effect are left out, as `identity` always is.
  package static func codings(of head: ResponseHead, isStrict: Bool = false) -> [String] {
    var result: [String] = []
    for field in head.fields where field.name.isASCII("content-encoding") {
      for part in field.value.lowercased().split(separator: ",", omittingEmptySubsequences: false) {
        let name = String(Substring(part.utf8.withoutSpaces))
        if isStrict ? name != "identity" : !FieldSyntax.isNoContentCoding(name) { result.append(name) }
      }
    }
    return result
  }
}
