// SPDX-License-Identifier: Apache-2.0

/// Where a ``CookieJar`` keeps its cookies between runs.
///
/// It is called on any thread, by one task at a time for each jar.
public protocol CookieStore: Sendable {
  /// The cookies that were saved last; none where none were.
  ///
  /// - Throws: ``CookieError`` where they cannot be read. The jar is then not made, and nothing is written.
  func load() throws(CookieError) -> [Cookie]

  /// Keeps these in place of all others. A reader must see the old ones or the new ones, and nothing between.
  ///
  /// - Throws: ``CookieError`` where that cannot be done; the old ones stay.
  func save(_ cookies: [Cookie]) throws(CookieError)
}
