// SPDX-License-Identifier: Apache-2.0

/// The endpoint that a loopback server listens on.
package enum LoopbackEndpoint: Sendable, Hashable {
  /// A port of 127.0.0.1.
  case port(UInt16)
  /// A Unix socket path.
  case unixSocket(path: String)
}
