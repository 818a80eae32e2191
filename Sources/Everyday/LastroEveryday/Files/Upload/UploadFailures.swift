// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroWire

extension FailureCode {
  /// The server's response about an upload contradicts the file or the protocol.
  public static let uploadMismatch = Self("upload_mismatch")
  /// The file has changed since the upload was begun.
  public static let uploadChanged = Self("upload_changed")
}

extension TransportError {
  static func uploadMismatch(_ reason: String) -> Self {
    Self(
      stage: .response, code: .uploadMismatch, message: "the upload cannot continue: \(reason)",
      hint: "start the upload again, and check whether the server supports this protocol", requestSent: true)
  }

  static func uploadTooLarge(_ length: Int64, limit: Int64) -> Self {
    Self(
      stage: .limit, code: .bodyTooLarge,
      message: "the file has \(length.counted("byte")), and the server takes \(limit) at most",
      hint: "make the file smaller, or ask the server's owner for a higher limit", requestSent: true)
  }

  static func uploadChanged(_ path: String) -> Self {
    .refused(
      .uploadChanged, "\(path.escapedForDisplay) was changed since its upload started", hint: "start the upload again")
  }
}

extension RequestTarget {
  /// Resolves a `Location` to a URL.
  ///
  /// - Throws: a refusal of text that is not a URL, and of a URL that leads from https to http.
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
  /// Redirects the request to another URL.
  mutating func go(to url: String) throws(TransportError) {
    let other = try ResourceRequest(url: url).head
    (head.scheme, head.authority, head.path) = (other.scheme, other.authority, other.path)
  }
}
