// SPDX-License-Identifier: Apache-2.0

/// Whether and how far redirects are followed.
public struct RedirectPolicy: Sendable, Hashable {
  /// Most redirects of one attempt. With 0 a fetch throws the 3xx (`http/unexpected_status`); `exchange` returns it.
  public var limit: Int
  /// Whether `https` may lead to `http`. Default false.
  public var allowsInsecure: Bool

  /// Follows redirects.
  ///
  /// - Parameters:
  ///   - limit: most redirects of one attempt. Default 20; a negative number counts as 0.
  ///   - allowsInsecure: whether to follow from `https` to `http`. Default `false`.
  public static func follow(limit: Int = 20, allowsInsecure: Bool = false) -> Self {
    Self(limit: max(0, limit), allowsInsecure: allowsInsecure)
  }

  /// Follows none: a fetch throws the 3xx answer as `http/unexpected_status`; `exchange` returns it.
  public static let none = Self(limit: 0, allowsInsecure: false)
}
