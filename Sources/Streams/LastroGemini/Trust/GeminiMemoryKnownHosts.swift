// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Lastro
internal import LastroSupport

/// A store of known hosts in memory.
package final class GeminiMemoryKnownHosts: GeminiKnownHosts {
  private let hosts: Lock<[GeminiHost: GeminiKnownHost]>

  /// Creates a store.
  package init(_ hosts: [GeminiHost: GeminiKnownHost] = [:]) { self.hosts = Lock(hosts) }

  /// All known hosts.
  package var all: [GeminiHost: GeminiKnownHost] { hosts.withLock { $0 } }

  /// Returns the known key of a host.
  ///
  /// - Throws: never, because the store is in memory.
  package func knownHost(_ host: GeminiHost) async throws(ConfigurationError) -> GeminiKnownHost? {
    hosts.withLock { $0[host] }
  }

  /// Stores a host, or removes it.
  ///
  /// - Throws: never, because the store is in memory.
  package func replace(
    _ host: GeminiHost, _ old: GeminiKnownHost?, with new: GeminiKnownHost?
  ) async throws(ConfigurationError) -> Bool {
    hosts.withLock { hosts in
      guard hosts[host] == old else { return false }
      hosts[host] = new
      return true
    }
  }
}
