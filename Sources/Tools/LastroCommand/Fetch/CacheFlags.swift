// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroEveryday
import LastroSQLiteCache

/// The flags for a cache that is kept from one run to the next.
struct CacheFlags: ParsableArguments {
  @Option(
    name: .customLong("cache"),
    help: ArgumentHelp(
      """
      Folder to store responses in, and to look them up in, by the rules of HTTP (RFC 9111). A missing folder is \
      created. A response to a request with credentials, or one that sets a cookie, is not stored, unless it is public. A \
      response is found again only with the same proxy, roots, pins and route.
      """, valueName: "dir"))
  var directory: String?

  /// Returns the cache; `nil` if none was requested.
  ///
  /// - Parameter way: the trust settings and the route from the flags, apart from the request's connection options.
  func cache(over way: String) throws(ConfigurationError) -> HTTPCache? {
    guard let directory else { return nil }
    do {
      return HTTPCache(store: try SQLiteCacheStore(directory: directory), policy: Self.policy(over: way))
    } catch {
      throw ConfigurationError("--cache: \(error.message)", hint: error.hint)
    }
  }

  /// Returns a cache with the same rules, but without the folder; `nil` if none was requested.
  func explainedCache(over way: String) -> HTTPCache? {
    directory.map { _ in HTTPCache(policy: Self.policy(over: way)) }
  }

  private static func policy(over way: String) -> HTTPCachePolicy {
    var policy = HTTPCachePolicy()
    // Personal responses would stay in memory, and be lost when the program exits.
    policy.storesPersonal = false
    policy.way = way
    return policy
  }
}
