// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport

/// A collection of client certificates with their scopes; see ``GeminiClient/addIdentity(_:for:)``.
package final class GeminiIdentities: Sendable {
  private struct Scope: Hashable {
    var host: GeminiHost
    var segments: [[UInt8]]
  }

  private let identities: Lock<[Scope: TLSOptions.Identity]>

  /// Creates an empty collection.
  package init() { identities = Lock([:]) }

  /// Creates a collection with the certificates of another one.
  package init(_ other: GeminiIdentities) { identities = Lock(other.identities.withLock { $0 }) }

  /// Adds a client certificate; replaces one with the same scope.
  ///
  /// - Parameters:
  ///   - identity: the certificate and its key.
  ///   - url: the host, port and path of the scope; the query is ignored.
  package func add(_ identity: TLSOptions.Identity, for url: GeminiURL) {
    let scope = Scope(host: url.authority, segments: Self.segments(url.path))
    identities.withLock { $0[scope] = identity }
  }

  /// Returns the certificate to present to this URL; `nil` if there is none.
  package func identity(for url: GeminiURL) -> TLSOptions.Identity? {
    let segments = Self.segments(url.path)
    let isClear = segments.allSatisfy { !$0.contains(UInt8(ascii: "/")) && !$0.contains(UInt8(ascii: "\\")) }
    return identities.withLock { identities in
      for count in stride(from: isClear ? segments.count : 0, through: 0, by: -1) {
        if let found = identities[Scope(host: url.authority, segments: Array(segments.prefix(count)))] { return found }
      }
      return nil
    }
  }

  /// Returns the decoded segments; a trailing slash makes no difference.
  private static func segments(_ path: String) -> [[UInt8]] {
    var segments = path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
    if segments.last?.isEmpty == true { segments.removeLast() }
    return segments.map { Substring($0).percentDecodedBytes ?? Array($0) }
  }
}
