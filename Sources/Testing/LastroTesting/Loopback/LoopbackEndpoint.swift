// SPDX-License-Identifier: Apache-2.0

/// The endpoint that a loopback server listens on.
public enum LoopbackEndpoint: Sendable, Hashable {
  /// A port of 127.0.0.1; 0 lets the kernel choose.
  case port(UInt16)
  /// A Unix socket path of at most 107 bytes. It must not exist yet, and is removed when the server stops.
  case unixSocket(path: String)

  /// A port that the kernel chooses.
  public static let ephemeral = Self.port(0)
}
