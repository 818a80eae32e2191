// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Client certificates, each for a host, a port, and the paths from one on. They are presented nowhere else, wherever
/// redirects lead.
///
/// A scope `/app` holds for `/app`, `/app?x` and `/app/x`, not for `/apple`; `/` for all of the host. Of several, the
/// longest counts. Paths are compared with percent-encoding undone; one with an encoded `/` or `\` is below no scope
/// but `/`, as servers may read it either way. Any thread may call it; what changes holds for connections made from
/// then on.
public final class GeminiIdentities: Sendable {
  private struct Scope: Hashable {
    var host: GeminiHost
    var segments: [[UInt8]]
  }

  private let identities = Lock<[Scope: TLSOptions.Identity]>([:])

  /// Makes an empty collection.
  public init() {}

  /// Adds a client certificate, in the place of one with the same scope.
  ///
  /// - Parameters:
  ///   - identity: certificate and key.
  ///   - url: host, port and path of the scope; its query does not matter.
  public func add(_ identity: TLSOptions.Identity, for url: GeminiURL) {
    let scope = Scope(host: url.authority, segments: Self.segments(url.path))
    identities.withLock { $0[scope] = identity }
  }

  /// Removes the one that was added for exactly this scope.
  public func remove(for url: GeminiURL) {
    let scope = Scope(host: url.authority, segments: Self.segments(url.path))
    identities.withLock { $0[scope] = nil }
  }

  /// The one to present to this URL; `nil` for none.
  public func identity(for url: GeminiURL) -> TLSOptions.Identity? {
    let segments = Self.segments(url.path)
    let isClear = segments.allSatisfy { !$0.contains(UInt8(ascii: "/")) && !$0.contains(UInt8(ascii: "\\")) }
    return identities.withLock { identities in
      for count in stride(from: isClear ? segments.count : 0, through: 0, by: -1) {
        if let found = identities[Scope(host: url.authority, segments: Array(segments.prefix(count)))] { return found }
      }
      return nil
    }
  }

  /// Decoded; a final slash makes no difference.
  private static func segments(_ path: String) -> [[UInt8]] {
    var segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
    if segments.last?.isEmpty == true { segments.removeLast() }
    return segments.map { Substring($0).percentDecodedBytes ?? Array($0) }
  }
}
