// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

extension Origin {
  /// Whether the origin is this machine: `localhost` and names below it (RFC 6761 §6.3), `127.0.0.0/8`, `::1`.
  package var isLoopback: Bool {
    if host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.first == "127" && parts.allSatisfy { UInt8(digits: $0) != nil }
  }

  /// Whether no network can read data sent to the origin: it uses `https`, or is this machine.
  package var keepsSecrets: Bool { scheme == "https" || isLoopback }
}
