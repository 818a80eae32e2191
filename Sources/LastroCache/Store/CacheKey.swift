// SPDX-License-Identifier: Apache-2.0

/// Under what an answer is kept. It holds digests alone, with the key of the store: neither URLs nor credentials.
public struct CacheKey: Sendable, Hashable {
  /// Stands for the URL as it was sent, without its fragment.
  public let url: [UInt8]
  /// Stands for the sender of the request, and for the connection options by which the response was fetched; empty for
  /// requests without either.
  public let partition: [UInt8]
  /// Whether the partition stands for a principal or for credentials, so that the response is for their owner alone.
  public let isPersonal: Bool

  /// Makes a key, for tests of stores.
  ///
  /// - Parameters:
  ///   - url: a digest of the URL.
  ///   - partition: a digest of the sender and the connection options. Default: empty.
  ///   - isPersonal: whether a principal or credentials are in the partition. Default: whether it is not empty.
  public init(url: [UInt8], partition: [UInt8] = [], isPersonal: Bool? = nil) {
    self.url = url
    self.partition = partition
    self.isPersonal = isPersonal ?? !partition.isEmpty
  }
}
