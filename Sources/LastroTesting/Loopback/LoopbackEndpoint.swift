// SPDX-License-Identifier: Apache-2.0

/// Where a loopback server listens.
public enum LoopbackEndpoint: Sendable, Hashable {
  /// A port of 127.0.0.1; 0 lets the kernel choose.
  case port(UInt16)
  /// A Unix socket path of at most 107 bytes. Must not exist yet; removed when the server stops.
  case unixSocket(path: String)

  /// A port of the kernel's choice.
  public static let ephemeral = Self.port(0)
}
