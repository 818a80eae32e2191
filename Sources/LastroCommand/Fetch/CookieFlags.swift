// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Lastro
import LastroCookies

/// Where cookies come from, and where they go, with curl's names and meaning.
struct CookieFlags: ParsableArguments {
  @Option(
    name: [.customShort("b"), .customLong("cookie")],
    help: "Cookies as 'name=value; name=value', or a file of them in Netscape's format, which need not be there.")
  var cookie: String?
  @Option(
    name: [.customShort("c"), .customLong("cookie-jar")],
    help: "File that all cookies are written to at the end, in Netscape's format; - for standard output.")
  var jarFile: String?

  /// The cookies of one fetch.
  struct Jar {
    /// `nil` where none are kept.
    var jar: CookieJar?
    /// Those of the command line, which are sent and not written.
    var given: [Cookie] = []

    /// A stack's, with the jar.
    var configuration: StackConfiguration {
      var configuration = StackConfiguration()
      configuration.cookies = jar
      return configuration
    }
  }

  /// What has no `=` is the name of a file, and an empty one of none.
  private var file: String? { cookie.flatMap { $0.contains("=") ? nil : $0 } }
  private var text: String? { cookie.flatMap { $0.contains("=") ? $0 : nil } }

  /// Reads the file, and takes the cookies of the command line. Without a file of either kind they are a field of the
  /// request, as curl has it, and nothing that the server sets is kept.
  ///
  /// - Throws: `ConfigurationError` for a file that cannot be read, and a cookie that cannot be sent.
  func jar(for specification: inout RequestSpecification) throws -> Jar {
    do {
      return try readJar(for: &specification)
    } catch let error as CookieError {
      throw ConfigurationError(error.message, hint: error.hint)
    }
  }

  private func readJar(for specification: inout RequestSpecification) throws -> Jar {
    guard jarFile != nil || file != nil else {
      if let text, !specification.headers.contains(where: { $0.name.lowercased() == "cookie" }) {
        specification.headers.append(("Cookie", text))
      }
      return Jar()
    }
    let jar = CookieJar()
    if let file, !file.isEmpty {
      for cookie in try CookieFile(path: file).load() {
        do {
          try jar.insert(cookie)
        } catch {
          Console.error("lastro: \(file.onOneLine): \("\(error)".onOneLine)")
        }
      }
    }
    let given = try given(for: specification.url)
    for cookie in given { try jar.insert(cookie) }
    return Jar(jar: jar, given: given)
  }

  /// For the URL's host alone, so that no redirect takes them elsewhere.
  private func given(for url: String) throws -> [Cookie] {
    // A URL that cannot be used is refused as such.
    guard let text, let origin = try? Origin(url) else { return [] }
    let host = origin.host.filter { $0 != "[" && $0 != "]" }
    let pairs = text.split(separator: ";").filter { !$0.allSatisfy(\.isWhitespace) }
    return pairs.map { pair in
      let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { side in
        side.trimmingCharacters(in: .whitespaces)
      }
      return Cookie(sides[0], Secret(sides.count == 2 ? sides[1] : ""), domain: host)
    }
  }

  /// Writes the cookies that servers set, and those of the file, where that is asked for.
  func save(_ kept: Jar) throws {
    guard let jar = kept.jar, let jarFile else { return }
    jar.remove { cookie in
      kept.given.contains { given in
        (given.name, given.domain, given.path, given.value) == (cookie.name, cookie.domain, cookie.path, cookie.value)
      }
    }
    if jarFile == "-" { return try Console.out(jar.netscapeText()) }
    try CookieFile(path: jarFile).save(jar.cookies)
  }
}
