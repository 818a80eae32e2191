// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport

/// The file of a ``CookieJar``, whose initializer with a path describes it.
package struct CookieFile: CookieStore, Hashable {
  package let path: String

  /// Creates a store for a file, which need not exist yet.
  package init(path: String) { self.path = path }

  /// Reads the cookies; returns none if there is no file.
  ///
  /// - Throws: `ConfigurationError` if the file cannot be read, exceeds 16 MiB, is not UTF-8, or has a line that is not
  ///   in the format, so that a file of another kind is never overwritten.
  package func load() throws(ConfigurationError) -> [Cookie] {
    guard let text = try read() else { return [] }
    let (entries, problems) = NetscapeCookies.entries(of: text)
    if let problem = problems.first {
      throw ConfigurationError(
        "line \(problem.line) of \(path) \(problem.reason)", hint: "name a file of cookies, or remove the line")
    }
    return entries.map(\.cookie)
  }

  /// Replaces the file.
  ///
  /// - Throws: `ConfigurationError` if the cookies exceed the 16 MiB that can be read back, the path is a device or a
  ///   pipe, such as `/dev/null`, or the new file cannot be written or renamed. The old file then stays unchanged.
  package func save(_ cookies: [Cookie]) throws(ConfigurationError) {
    let file = try file()
    do throws(PrivateFile.Failure) {
      try file.replace(with: NetscapeCookies.text(of: cookies))
    } catch {
      throw ConfigurationError(error, path)
    }
  }

  private func read() throws(ConfigurationError) -> String? {
    let file = try file()
    do throws(PrivateFile.Failure) { return try file.read() } catch { throw ConfigurationError(error, path) }
  }

  private func file() throws(ConfigurationError) -> PrivateFile {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw ConfigurationError("the path of the file of cookies is empty or has a NUL", hint: "name a file")
    }
    return PrivateFile(path)
  }
}
