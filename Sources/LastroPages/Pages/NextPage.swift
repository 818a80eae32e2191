// SPDX-License-Identifier: Apache-2.0

/// What the request for the next page has in place of the first one's.
///
/// It can be kept: it has what the server said of the page, and no header field of the request.
@nonexhaustive
public enum NextPage: Sendable, Hashable, Codable {
  /// Another URL: absolute, or a reference that is resolved against the URL of the page before.
  case url(String)
  /// Query items, in place of those with their names.
  case query([String: String])
  /// A header field, in place of those with its name.
  case header(name: String, value: String)
}
