// SPDX-License-Identifier: Apache-2.0

/// A file of cookies in the format of Netscape's `cookies.txt`, which curl and wget share.
///
/// ```swift
/// let jar = try CookieJar(store: CookieFile(path: "/var/lib/agent/cookies.txt"))
/// ```
///
/// A save writes a new file beside it and puts that in its place at once. Only the owner may read it (0600), as it
/// holds sessions. ``Cookie/sameSite`` is lost, and so is a value with a tab.
public struct CookieFile: CookieStore, Hashable {
  /// Its path. A symbolic link there is replaced, and not followed.
  public let path: String

  /// Names a file, which need not be there yet.
  public init(path: String) { self.path = path }

  /// Reads it; none where there is no file.
  ///
  /// - Throws: ``CookieError`` where it cannot be read, has more than 16 MiB, is not UTF-8, or has a line that is not
  ///   of the format: what is not a file of cookies is not written over.
  public func load() throws(CookieError) -> [Cookie] {
    guard let text = try PrivateFile(path).read() else { return [] }
    let (entries, problems) = NetscapeCookies.entries(of: text)
    if let problem = problems.first {
      throw CookieError(
        "line \(problem.line) of \(path) \(problem.reason)", hint: "name a file of cookies, or remove the line")
    }
    return entries.map(\.cookie)
  }

  /// Replaces it.
  ///
  /// - Throws: ``CookieError`` where the cookies have more than the 16 MiB that are read, where it is a device or a
  ///   pipe, such as `/dev/null`, or no file can be written beside it, or put in its place; it stays as it is then.
  public func save(_ cookies: [Cookie]) throws(CookieError) {
    try PrivateFile(path).replace(with: NetscapeCookies.text(of: cookies))
  }
}
