// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The limits of an ``HTTPEngine``, and the fields that it adds to requests. They are the same for every transport. The
/// engine itself does not read `connection`, `timeSource` and `dialerName`.
package typealias EngineSettings = DialerTransport.Configuration

extension EngineSettings {
  /// The value of `Accept-Encoding`; `nil` to send none.
  var acceptEncoding: String? { decompresses ? codings.map(\.name).joined(separator: ", ") : nil }

  /// Returns the settings with memory for decoders that no other engine uses, unless they have some.
  func withDecodingMemory() -> Self {
    var settings = self
    settings.decodingMemory = decodingMemory ?? DecodingMemory(limit: maximumWindowBytes)
    return settings
  }

  var keepsIdle: Bool { idleConnections > 0 }

  /// Returns the HTTP version of the options, or HTTP/1.1 where HTTP/2 is not used.
  ///
  /// - Parameter isForwarded: whether a proxy receives the requests with their whole URLs. It is not known beforehand
  ///   whether it speaks HTTP/2.
  func usableVersion(
    _ version: ConnectionOptions.HTTPVersion, isForwarded: Bool
  ) -> ConnectionOptions.HTTPVersion {
    offersHTTP2 && !isForwarded ? version : .http1
  }
}
