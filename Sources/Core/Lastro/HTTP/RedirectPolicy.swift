// SPDX-License-Identifier: Apache-2.0

/// A policy for following redirects.
public struct RedirectPolicy: Sendable, Hashable {
  /// The maximum number of redirects of an attempt. With 0, a fetch throws the 3xx response as
  /// `http/unexpected_status`; `exchange` returns it.
  package var limit: Int
  /// Whether a redirect from `https` to `http` is followed. Default false.
  package var allowsInsecure: Bool

  /// Returns a policy that follows redirects.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of redirects of an attempt. Default 20; a negative number counts as 0.
  ///   - allowsInsecure: whether to follow a redirect from `https` to `http`. Default `false`.
  public static func follow(limit: Int = 20, allowsInsecure: Bool = false) -> Self {
    Self(limit: max(0, limit), allowsInsecure: allowsInsecure)
  }

  /// A policy that follows no redirects. A fetch throws the 3xx response as `http/unexpected_status`; `exchange`
  /// returns it.
  public static let none = Self(limit: 0, allowsInsecure: false)
}
