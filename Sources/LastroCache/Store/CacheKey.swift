// SPDX-License-Identifier: Apache-2.0

/// Under what an answer is kept. It holds digests alone, with the key of the store: neither URLs nor credentials.
public struct CacheKey: Sendable, Hashable {
  /// Stands for the URL as it was sent, without its fragment.
  public let url: [UInt8]
  /// Stands for whom the answer was made; empty for anyone.
  public let partition: [UInt8]

  /// Makes a key, for tests of stores.
  public init(url: [UInt8], partition: [UInt8] = []) {
    self.url = url
    self.partition = partition
  }

  /// Whether what is kept under it is for those alone who have the same principal or credentials.
  public var isPersonal: Bool { !partition.isEmpty }
}
