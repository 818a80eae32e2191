// SPDX-License-Identifier: Apache-2.0

package import Lastro

/// The storage of a ``CookieJar``'s cookies between runs.
///
/// Methods are called on any thread, by one task at a time for each jar.
package protocol CookieStore: Sendable {
  /// Returns the cookies that were saved last; empty if none were saved.
  ///
  /// - Throws: `ConfigurationError` if they cannot be read. The jar is then not created, and nothing is written.
  func load() throws(ConfigurationError) -> [Cookie]

  /// Replaces all stored cookies. A reader must see either the old cookies or the new ones, never a mixture.
  ///
  /// - Throws: `ConfigurationError` if that fails; the old cookies stay.
  func save(_ cookies: [Cookie]) throws(ConfigurationError)
}
