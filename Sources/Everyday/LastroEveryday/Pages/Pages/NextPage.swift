// SPDX-License-Identifier: Apache-2.0

/// The part of the next page's request that differs from the first request.
///
/// It can be stored: it contains only what the server said of the page, and no header field of the request.
@nonexhaustive
public enum NextPage: Sendable, Hashable, Codable {
  /// Another URL: an absolute URL, or a reference that is resolved against the URL of the previous page.
  case url(String)
  /// Query items that replace those with the same names.
  case query([String: String])
  /// A header field that replaces those with the same name.
  case header(name: String, value: String)
}
