// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
internal import LastroSupport

/// The known key of a host, from the certificate that it presented, and the expiry of that certificate.
package struct GeminiKnownHost: Sendable, Hashable {
  /// The SHA-256 hash of the key.
  package var pin: SPKIHash
  /// The expiry of the certificate, to the second. Until then, the user must decide about a different key.
  package var expires: Date

  /// Creates a known host. The date is truncated to the second.
  package init(pin: SPKIHash, expires: Date) {
    self.pin = pin
    self.expires = Date(timeIntervalSince1970: expires.timeIntervalSince1970.rounded(.down))
  }
}

/// A store of host keys for trust on first use: ``GeminiMemoryKnownHosts`` or ``GeminiKnownHostsFile``.
///
/// Clients query it before they connect, and update it after a successful handshake. It may be called from any thread.
/// A client that is cancelled, or whose total limit has passed, does not wait for the result; the call continues in a
/// cancelled task.
package protocol GeminiKnownHosts: Sendable {
  /// Returns the known key of a host; `nil` if the host was never seen.
  ///
  /// - Throws: an error if the key cannot be determined; nothing is sent in that case.
  func knownHost(_ host: GeminiHost) async throws(ConfigurationError) -> GeminiKnownHost?

  /// Stores `new` for a host, or removes the host if it is `nil`, but only if the stored value still is `old`. If two
  /// tasks meet a host for the first time, one of them thus learns which key the other stored.
  ///
  /// - Returns: whether the value was replaced; false if the stored value is no longer `old`.
  /// - Throws: an error if the value cannot be stored; the request to the host fails in that case.
  func replace(
    _ host: GeminiHost, _ old: GeminiKnownHost?, with new: GeminiKnownHost?
  ) async throws(ConfigurationError) -> Bool
}
