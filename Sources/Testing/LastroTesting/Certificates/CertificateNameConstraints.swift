// SPDX-License-Identifier: Apache-2.0

/// The DNS names that certificates below an authority may have (RFC 5280 §4.2.1.10, critical).
///
/// A subtree is a name and all names below it: `example.com` covers `example.com` and `a.example.com`.
package struct CertificateNameConstraints: Sendable, Hashable {
  /// The permitted subtrees. If there are any, names outside of them are refused. Default: none.
  package var permitted: [String]
  /// The excluded subtrees. Names within them are refused, permitted or not. Default: none.
  package var excluded: [String]

  /// Creates constraints. With neither kind, the extension is omitted.
  package init(permitted: [String] = [], excluded: [String] = []) {
    self.permitted = permitted
    self.excluded = excluded
  }
}
