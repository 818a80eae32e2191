// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
internal import Lastro
internal import LastroWire

/// The event loops of one transport that carry the requests with one key, chosen by rendezvous hashing.
///
/// Each loop has a score for each key. The loop with the highest score is the key's home, and the loop with the next
/// score is its second choice. As a result, requests with the same key find the connections of earlier requests, keys
/// are spread evenly, and removing a loop moves only the keys of that loop. The scores are the same in every process.
package struct HomeLoops: Hashable, Sendable {
  /// The number of the loop that carries the requests.
  package private(set) var home = 0
  /// The number of the loop that helps out; `home` if there is only one loop.
  package private(set) var second = 0

  /// Chooses the loops of a key.
  ///
  /// - Parameters:
  ///   - key: a hash of the properties by which connections are shared.
  ///   - count: the number of loops, at least 1.
  package init(of key: UInt64, among count: Int) {
    var highest: UInt64 = 0, next: UInt64 = 0
    for loop in 0..<count {
      let score = Self.score(of: key, on: loop)
      if loop == 0 || score > highest {
        (second, next) = (home, highest)
        (home, highest) = (loop, score)
      } else if loop == 1 || score > next {
        (second, next) = (loop, score)
      }
    }
  }

  /// Mixes the key with the loop's number by the last step of SplitMix64.
  private static func score(of key: UInt64, on loop: Int) -> UInt64 {
    var bits = key &+ UInt64(truncatingIfNeeded: loop + 1) &* 0x9E37_79B9_7F4A_7C15
    bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
    return bits ^ bits >> 31
  }
}

extension HomeLoops {
  /// Returns the key of a request that is sent to a server directly, or through a tunnel. It depends on the scheme,
  /// host and port, and not on the spelling of the authority.
  package static func key(ofOrigin head: HTTPRequest) -> UInt64 {
    let isTLS = head.scheme == "https", authority = head.authority ?? ""
    let defaultPort = isTLS ? 443 : 80
    let plain = authority.utf8.withContiguousStorageIfAvailable { bytes -> UInt64? in
      guard let plain = PlainAuthority(bytes) else { return nil }
      return key(isTLS, UnsafeBufferPointer(rebasing: bytes[..<plain.hostLength]), plain.port ?? defaultPort)
    }
    if let plain = plain ?? nil { return plain }
    // An authority that cannot be parsed is refused on any loop.
    let target = TrustTarget(authority: authority, defaultPort: defaultPort)
    var host = target?.host.text ?? authority
    return host.withUTF8 { key(isTLS, $0, target?.port ?? 0) }
  }

  /// Returns the key of requests that are sent to a proxy with their whole URLs.
  package static func key(ofProxy url: String) -> UInt64 {
    var url = url
    return url.withUTF8 { key(false, $0, 0) }
  }

  /// Hashes with FNV-1a. ASCII letters are hashed in lower case.
  private static func key(_ isTLS: Bool, _ text: UnsafeBufferPointer<UInt8>, _ port: Int) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    for byte in text { add(byte &- 65 < 26 ? byte | 32 : byte) }
    add(UInt8(truncatingIfNeeded: port >> 8))
    add(UInt8(truncatingIfNeeded: port))
    add(isTLS ? 1 : 0)
    return hash
  }
}
