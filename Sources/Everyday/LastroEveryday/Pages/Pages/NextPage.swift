// SPDX-License-Identifier: Apache-2.0

/// The part of the next page's request that differs from the first request, and a point from which another sequence of
/// pages can continue.
///
/// It can be stored beyond the process: it contains only a URL, or values for a URL or a header field, as the server or
/// a pagination gave them, and no header field of the request.
public struct NextPage: Sendable, Hashable, Codable {
  enum Change: Sendable, Hashable, Codable {
    case url(String)
    case query([String: String])
    case header(name: String, value: String)
  }

  let change: Change
  /// The number of pages before it.
  let index: Int

  init(_ change: Change, index: Int = 0) {
    self.change = change
    self.index = index
  }

  /// Returns a page at another URL: an absolute URL, or a reference that is resolved against the URL of the previous
  /// page.
  public static func url(_ url: String) -> Self { Self(.url(url)) }

  /// Returns a page whose request has these query items in place of those with the same names.
  public static func query(_ items: [String: String]) -> Self { Self(.query(items)) }

  /// Returns a page whose request has this header field in place of those with the same name.
  public static func header(name: String, value: String) -> Self { Self(.header(name: name, value: value)) }
}
