// SPDX-License-Identifier: Apache-2.0

/// The key under which a response is stored. It contains only digests made with the store's key: no URLs and no
/// credentials.
package struct CacheKey: Sendable, Hashable {
  /// A digest of the URL as it was sent, without its fragment.
  package let url: [UInt8]
  /// A digest of the request's sender and of the connection options by which the response was fetched; empty for
  /// requests without either.
  package let partition: [UInt8]
  /// Whether the partition represents a principal or credentials, so that the response is for their owner alone.
  package let isPersonal: Bool

  /// Creates a key, for tests of stores.
  ///
  /// - Parameters:
  ///   - url: a digest of the URL.
  ///   - partition: a digest of the sender and the connection options. Default: empty.
  ///   - isPersonal: whether a principal or credentials are in the partition. Default: whether it is not empty.
  package init(url: [UInt8], partition: [UInt8] = [], isPersonal: Bool? = nil) {
    self.url = url
    self.partition = partition
    self.isPersonal = isPersonal ?? !partition.isEmpty
  }
}
