// SPDX-License-Identifier: Apache-2.0

extension ServerTrustEvaluator {
  /// The order in which the keys of a chain are looked up among the pins. It does not affect the result, because any
  /// match is sufficient.
  public enum CertificateCheckingOrder: String, Sendable, Hashable, CaseIterable, Codable {
    /// The root is looked up first, which is faster if certificate authorities are pinned.
    case rootToLeaf
    /// The leaf is looked up first.
    case leafToRoot

    /// Returns the indices of a chain in this order; the leaf has index 0. Returns no index for an empty chain.
    public func indices(forChainLength length: Int) -> StrideTo<Int> {
      let length = max(0, length)
      return switch self {
      case .rootToLeaf: stride(from: length - 1, to: -1, by: -1)
      case .leafToRoot: stride(from: 0, to: length, by: 1)
      }
    }
  }
}
