// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// A file of cookies in the format of Netscape's `cookies.txt`, which curl and wget share.
///
/// ```swift
/// let jar = try CookieJar(store: CookieFile(path: "/var/lib/shop/cookies.txt"))
/// ```
///
/// A save writes a new file beside it, `PATH.new`, and puts that in its place at once. Only the owner may read either
/// (0600), as they hold sessions. What a process that was killed left of the new file is removed by the next load or
/// save. ``Cookie/sameSite`` is lost, and so is a value with a tab.
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
    guard let text = try read() else { return [] }
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
    let file = try file()
    do throws(PrivateFile.Failure) {
      try file.replace(with: NetscapeCookies.text(of: cookies))
    } catch {
      throw CookieError(error, path)
    }
  }

  private func read() throws(CookieError) -> String? {
    let file = try file()
    do throws(PrivateFile.Failure) { return try file.read() } catch { throw CookieError(error, path) }
  }

  private func file() throws(CookieError) -> PrivateFile {
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw CookieError("the path of the file of cookies is empty or has a NUL", hint: "name a file")
    }
    return PrivateFile(path)
  }
}

extension CookieError {
  init(_ failure: PrivateFile.Failure, _ path: String) {
    switch failure {
    case .system(let words, let reason, let hint): self.init("\(words) \(path): \(reason)", hint: hint)
    case .unfit, .notText:
      self.init("\(path) is not a file of cookies", hint: "name a regular file of UTF-8, of at most 16 MiB")
    case .tooLarge(let count):
      self.init(
        "the cookies for \(path) have \(count) bytes, above the maximum of 16 MiB",
        hint: "remove cookies, or lower CookieRules.maximumCookies")
    }
  }
}
