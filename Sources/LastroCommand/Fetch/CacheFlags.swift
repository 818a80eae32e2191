// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroCache
import LastroSQLiteCache

/// Where answers are kept from one run to the next.
struct CacheFlags: ParsableArguments {
  @Option(
    name: .customLong("cache"),
    help: ArgumentHelp(
      """
      Folder in which answers are kept, and looked for, by the rules of HTTP (RFC 9111). It is made where it is not \
      there. What is asked for with credentials is not kept.
      """, valueName: "dir"))
  var directory: String?

  /// `nil` where none is asked for.
  func cache() throws(ConfigurationError) -> HTTPCache? {
    guard let directory else { return nil }
    do {
      return HTTPCache(store: try SQLiteCacheStore(directory: directory))
    } catch {
      throw ConfigurationError("--cache: \(error.message)", hint: error.hint)
    }
  }
}
