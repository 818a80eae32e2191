// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension ResourceRequest {
  /// The absolute URL, from the parts that the head has.
  package var url: String {
    let (scheme, authority, path) = (head.scheme ?? "", head.authority ?? "", head.path ?? "/")
    let length = scheme.utf8.count + 3 + authority.utf8.count + path.utf8.count
    // Write the string in one pass: every call needs it, and repeated appending would validate it each time.
    return String(unsafeUninitializedCapacity: length) { buffer in
      var end = buffer[...].update(fromContentsOf: scheme.utf8)
      end = buffer[end...].update(fromContentsOf: "://".utf8)
      end = buffer[end...].update(fromContentsOf: authority.utf8)
      return buffer[end...].update(fromContentsOf: path.utf8)
    }
  }

  /// The method and the URL, for errors: without user information, query values that may be secret, and the request's
  /// secrets.
  var summary: String { summary(Redaction.standard) }

  /// Returns the same text, with the secrets of a redaction masked as well.
  func summary(_ redaction: Redaction) -> String { head.summary(redaction.adding(self)) }
}

extension HTTPRequest {
  /// Returns the method and the URL, for errors: without user information, the query values that `redaction` does not
  /// show, and its secrets. An item without `=` counts as a value.
  func summary(_ redaction: Redaction) -> String {
    // A request with user information is refused, but the error still describes it.
    var place = redaction.secretsMasked(in: authority ?? "")
    if let at = place.utf8.lastIndex(of: UInt8(ascii: "@")) { place.replaceSubrange(..<at, with: Redaction.mask) }
    let path = redaction.maskingQueryValues(ofURL: redaction.secretsMasked(in: path ?? "/"))
    return "\(method.rawValue) \(scheme ?? "")://\(place)\(path)"
  }
}
