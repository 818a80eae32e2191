// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension FailureCode {
  /// What the server says of an upload does not fit to the file, or to the protocol.
  public static let uploadMismatch = Self("upload_mismatch")
  /// The file was changed since the upload was begun.
  public static let uploadChanged = Self("upload_changed")
}

extension TransportError {
  static func uploadMismatch(_ reason: String) -> Self {
    Self(
      stage: .response, code: .uploadMismatch, message: "the upload cannot go on: \(reason)",
      hint: "begin the upload anew, and look at whether the server speaks this protocol", requestSent: true)
  }

  static func uploadTooLarge(_ length: Int64, limit: Int64) -> Self {
    Self(
      stage: .limit, code: .bodyTooLarge,
      message: "the file has \(length.counted("byte")), and the server takes \(limit) at most",
      hint: "make the file smaller, or ask the server's owner for a higher limit", requestSent: true)
  }

  static func uploadChanged(_ path: String) -> Self {
    .refused(
      .uploadChanged, "\(path.escapedForDisplay) was changed since its upload was begun", hint: "begin the upload anew")
  }
}

extension RequestTarget {
  /// The URL that a `Location` names.
  ///
  /// - Throws: a refusal of what is not a URL, and of one that leads from https to http.
  static func resolved(_ location: String, _ base: String) throws(TransportError) -> String {
    let base = try RequestTarget(base)
    let url = try RedirectTarget(location, base: base, fragment: nil).urlWithoutFragment
    guard base.scheme != "https" || url.hasPrefix("https:") else {
      throw .refused(.insecureRedirect, "the upload's location leads from https to http", hint: "have the server fixed")
    }
    return url
  }
}

extension ResourceRequest {
  /// Asks another place for the same.
  mutating func go(to url: String) throws(TransportError) {
    let other = try ResourceRequest(url: url).head
    (head.scheme, head.authority, head.path) = (other.scheme, other.authority, other.path)
  }
}
