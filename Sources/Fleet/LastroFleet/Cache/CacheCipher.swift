// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroEveryday

/// The names and the sealing of a cache's records.
///
/// Names are keyed digests, and each record is sealed with a key of its own, which follows from its full digest. A
/// record that was copied to another name, cache or store key cannot be opened.
struct CacheCipher: Sendable {
  /// The place of a record in a store.
  struct Place: Sendable {
    var name: String
    fileprivate var identity: [UInt8]
  }

  /// The purpose of a record, which is a part of its name.
  enum Purpose: String {
    case epoch, responses, lease
  }

  private let cache: String
  private let root: SealingKey
  /// The key of the digests of URLs and senders.
  let digestKey: [UInt8]

  /// - Parameters:
  ///   - key: the key of the application.
  ///   - cache: the name of the cache.
  ///   - policy: the options of the cache. Instances that disagree about whom a response is for share nothing.
  init(_ key: SealingKey, cache: String, _ policy: HTTPCachePolicy) throws(ConfigurationError) {
    self.cache = cache
    root = try key.derived(for: Array("lastro cache \(policy.audience) \(cache)".utf8))
    digestKey = try root.digest(of: Array("digests".utf8))
  }

  /// Returns the place of a record; `nil` if OpenSSL has no memory.
  func place(_ purpose: Purpose, _ epoch: UInt64, _ key: CacheKey, _ variant: String = "") -> Place? {
    var message = Array("\(purpose.rawValue)\n".utf8) + WordBytes.encode(epoch, UInt64(key.url.count)) + key.url
    message += WordBytes.encode(UInt64(key.partition.count)) + key.partition + Array(variant.utf8)
    guard let identity = try? root.digest(of: message) else { return nil }
    let name = identity.prefix(16).flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 15)]] }
    return Place(name: "cache:\(cache):\(String(decoding: name, as: UTF8.self))", identity: identity)
  }

  private static let digits = Array("0123456789abcdef".utf8)

  func sealed(_ message: [UInt8], for place: Place) -> [UInt8]? {
    try? root.derived(for: Array("seal".utf8) + place.identity).sealed(message)
  }

  /// Returns the message; `nil` if it was sealed for another place or changed.
  func opened(_ sealed: [UInt8], of place: Place) -> [UInt8]? {
    guard let key = try? root.derived(for: Array("seal".utf8) + place.identity) else { return nil }
    return (try? key.opened(sealed)) ?? nil
  }
}

extension HTTPCachePolicy {
  /// A word for the requests that may share a response. It is a part of every key, so it must not change.
  fileprivate var audience: String {
    let word =
      switch partitioning {
      case .byPrincipal: "principal"
      case .common: "common"
      case .shared: "shared"
      }
    return storesPersonal ? word : "\(word)-impersonal"
  }
}
