// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

extension HTTPRequest {
  /// Returns the method and the URL for errors. Masks user information, the query values that `redaction` does not
  /// show, and the secrets of `redaction`. An item without `=` counts as a value.
  func summary(_ redaction: Redaction) -> String {
    // A request with user information is refused, but the error still describes it.
    var place = redaction.secretsMasked(in: authority ?? "")
    if let at = place.utf8.lastIndex(of: UInt8(ascii: "@")) { place.replaceSubrange(..<at, with: Redaction.mask) }
    let path = redaction.maskingQueryValues(ofURL: redaction.secretsMasked(in: path ?? "/"))
    return "\(method.rawValue) \(scheme ?? "")://\(place)\(path)"
  }
}
