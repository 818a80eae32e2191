// SPDX-License-Identifier: Apache-2.0

/// The DNS names that certificates below an authority may be for (RFC 5280 §4.2.1.10, critical).
///
/// A subtree is a name and all below it: `example.com` covers `example.com` and `a.example.com`.
public struct CertificateNameConstraints: Sendable, Hashable {
  /// When there is one, names outside of these are refused. Default none.
  public var permitted: [String]
  /// Names within these are refused, permitted or not. Default none.
  public var excluded: [String]

  /// Makes constraints. With neither, the extension is left out.
  public init(permitted: [String] = [], excluded: [String] = []) {
    self.permitted = permitted
    self.excluded = excluded
  }
}
