// SPDX-License-Identifier: Apache-2.0

extension Origin {
  /// Whether what is sent there stays on this machine: `localhost` and names below it (RFC 6761 §6.3), `127.0.0.0/8`,
  /// `::1`.
  package var isLoopback: Bool {
    if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.first == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  /// Whether what is sent there stays on this machine, where no network can read it.
  package var keepsSecrets: Bool { scheme == "https" || isLoopback }
}
