// SPDX-License-Identifier: Apache-2.0

extension ServerTrustEvaluator {
  /// In which order the keys of a chain are looked up among the pins. It decides nothing: any match suffices.
  public enum CertificateCheckingOrder: String, Sendable, Hashable, CaseIterable, Codable {
    /// The root first: quicker where authorities are pinned.
    case rootToLeaf
    /// The leaf first.
    case leafToRoot

    /// The indices of a chain, whose leaf has 0, in that order. None for a chain without certificates.
    public func indices(forChainLength length: Int) -> StrideTo<Int> {
      let length = max(0, length)
      return switch self {
      case .rootToLeaf: stride(from: length - 1, to: -1, by: -1)
      case .leafToRoot: stride(from: 0, to: length, by: 1)
      }
    }
  }
}
