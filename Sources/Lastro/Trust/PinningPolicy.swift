// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// Which keys a host must present.
public struct PinningPolicy: Sendable, Hashable {
  /// The host, by its canonical name.
  public let host: HostName
  /// The pins: one of the keys of the verified chain must be among them.
  public let pins: Set<SPKIHash>
}
