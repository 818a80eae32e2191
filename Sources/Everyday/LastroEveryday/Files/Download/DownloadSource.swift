// SPDX-License-Identifier: Apache-2.0

import Lastro

/// The identity of a downloaded resource, as the state file stores it.
struct DownloadSource {
  /// The URL with secrets masked.
  let url: String
  /// The SHA-256 of `identity`, or of the URL if it is `nil`.
  let hash: String

  /// - Throws: `ConfigurationError` if OpenSSL has no SHA-256.
  init(_ request: ResourceRequest, _ options: RequestOptions, identity: String?) throws(ConfigurationError) {
    url = Redaction.standard.adding(options).adding(request).url(request.url)
    let text = identity.map { "identity \($0)" } ?? "url \(request.url)"
    hash = try MessageDigest(of: Array(text.utf8)).hexadecimal
  }
}
