// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroWire

/// Computes the digests under which responses are stored. The input may be secret; the digests are not.
struct CacheKeyring: Sendable {
  let key: [UInt8]

  /// The purpose of a digest. It is part of the input, so that a URL and a principal never have the same digest.
  private enum Use: String { case url, principal, credentials, selection }

  func digest(ofURL url: String) throws(ConfigurationError) -> [UInt8] { try digest(url, .url) }

  func digest(ofSelection text: String) throws(ConfigurationError) -> [UInt8] {
    text.isEmpty ? [] : try digest(text, .selection)
  }

  /// Returns the partition of a request; empty for requests without credentials and without connection options of their
  /// own.
  func partition(
    of sender: CacheSender, _ partitioning: HTTPCache.Partitioning
  ) throws(ConfigurationError) -> [UInt8] {
    guard partitioning == .byPrincipal else { return try way(of: sender) }
    if let principal = sender.principal {
      return try digest("\(principal.utf8.count):\(principal)\(sender.way)", .principal)
    }
    let text = sender.credentials.identity + (sender.hasIdentity ? "certificate\n" : "") + sender.way
    return text.isEmpty ? [] : try digest(text, .credentials)
  }

  /// Returns the partition of responses that are for anyone who reaches the server by the same connection options.
  func way(of sender: CacheSender) throws(ConfigurationError) -> [UInt8] {
    sender.way.isEmpty ? [] : try digest(sender.way, .credentials)
  }

  private func digest(_ text: String, _ use: Use) throws(ConfigurationError) -> [UInt8] {
    try MessageDigest.hmacSHA256(of: Array("\(use.rawValue)\n\(text)".utf8), key: key).bytes
  }
}
