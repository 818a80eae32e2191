// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension ResourceRequest {
  /// The absolute URL, as far as the head has it.
  package var url: String {
    let (scheme, authority, path) = (head.scheme ?? "", head.authority ?? "", head.path ?? "/")
    let length = scheme.utf8.count + 3 + authority.utf8.count + path.utf8.count
    // In one piece: every call has it made, and appending reads and checks all of it again and again.
    return String(unsafeUninitializedCapacity: length) { buffer in
      var end = buffer[...].update(fromContentsOf: scheme.utf8)
      end = buffer[end...].update(fromContentsOf: "://".utf8)
      end = buffer[end...].update(fromContentsOf: authority.utf8)
      return buffer[end...].update(fromContentsOf: path.utf8)
    }
  }

  /// Method and URL without user information, values of the query that may be secret and the request's secrets: what
  /// may stand in errors.
  var summary: String { summary(Redaction.standard) }

  /// The same, with the secrets of a redaction masked too.
  func summary(_ redaction: Redaction) -> String { head.summary(redaction.adding(self)) }
}

extension HTTPRequest {
  /// Method and URL without user information, what `redaction` does not show of the query, and its secrets: what may
  /// stand in errors. An item without `=` counts as a value.
  func summary(_ redaction: Redaction) -> String {
    // A request with user information is refused, but its refusal is described.
    var place = redaction.secretsMasked(in: authority ?? "")
    if let at = place.utf8.lastIndex(of: UInt8(ascii: "@")) { place.replaceSubrange(..<at, with: Redaction.mask) }
    let path = redaction.maskingQueryValues(ofURL: redaction.secretsMasked(in: path ?? "/"))
    return "\(method.rawValue) \(scheme ?? "")://\(place)\(path)"
  }
}
