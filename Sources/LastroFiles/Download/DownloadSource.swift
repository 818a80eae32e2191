// SPDX-License-Identifier: Apache-2.0

import Lastro

/// What a download is of, as its state keeps it.
struct DownloadSource {
  /// What is secret in it masked.
  let url: String
  /// SHA-256 of the URL, or of the name that the caller gave it.
  let hash: String

  /// - Throws: when OpenSSL has no SHA-256.
  init(_ request: ResourceRequest, _ options: RequestOptions, identity: String?) throws(ConfigurationError) {
    url = Redaction.standard.adding(options).adding(request).url(request.url)
    let text = identity.map { "identity \($0)" } ?? "url \(request.url)"
    hash = try MessageDigest(of: Array(text.utf8)).hexadecimal
  }
}
