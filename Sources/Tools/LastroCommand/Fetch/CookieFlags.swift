// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Lastro
import LastroEveryday

/// The flags for reading and saving cookies, with curl's names and meanings.
struct CookieFlags: ParsableArguments {
  @Option(
    name: [.customShort("b"), .customLong("cookie")],
    help: """
      Cookies as 'name=value; name=value', or a file of them in Netscape's format, which may be missing. Repeatable.
      """)
  var cookies: [String] = []
  @Option(
    name: [.customShort("c"), .customLong("cookie-jar")],
    help: "File to write all cookies to at the end, in Netscape's format; - for standard output.")
  var jarFile: String?

  /// The cookies of one fetch.
  struct Jar {
    /// The jar; `nil` if cookies are not stored.
    var jar: CookieJar?
    /// Sends the command line's cookies in addition to those of the jar.
    var given: GivenCookies?

    /// The configuration of a stack with the jar.
    var configuration: StackConfiguration {
      var configuration = StackConfiguration()
      configuration.cookies = jar
      configuration.interceptors = given.map { [$0] } ?? []
      return configuration
    }
  }

  /// The arguments without an `=`, which are names of files; an empty one names no file.
  private var files: [String] { cookies.filter { !$0.contains("=") } }
  private var text: String? {
    let texts = cookies.filter { $0.contains("=") }
    return texts.isEmpty ? nil : texts.joined(separator: "; ")
  }

  /// Reads the files, and adds the cookies of the command line. If no file is given for reading or saving, the cookies
  /// become a field of the request, as in curl, and the server's cookies are not stored.
  ///
  /// - Parameter kept: the jar of an earlier URL of the same request, which has the cookies of the files.
  /// - Throws: `ConfigurationError` for a file that cannot be read; `TransportError` if the limit of `-m` passes
  ///   meanwhile.
  func jar(for specification: inout RequestSpecification, reusing kept: CookieJar? = nil) throws -> Jar {
    let text = specification.headers.contains { $0.name.lowercased() == "cookie" } ? nil : text
    guard jarFile != nil || !files.isEmpty else {
      if let text { specification.headers.append(("Cookie", text)) }
      return Jar()
    }
    let jar = kept ?? CookieJar()
    for file in files where kept == nil && !file.isEmpty {
      for (index, cookie) in try CookieFile(path: file).load().enumerated() {
        if index.isMultiple(of: 256) { try checkTime(of: specification) }
        do {
          try jar.insert(cookie)
        } catch {
          Console.error("lastro: \(file.onOneLine): \("\(error)".onOneLine)")
        }
      }
    }
    // The request gets the rest of the time.
    if specification.timeout != nil, !files.isEmpty, let left = WriteDeadline.secondsLeft, left > 0 {
      specification.timeout = left
    }
    // An invalid URL is refused later with its own error.
    let origin = try? Origin(specification.url)
    return Jar(jar: jar, given: text.flatMap { text in origin.map { GivenCookies(text, for: $0, beside: jar) } })
  }

  private func checkTime(of specification: RequestSpecification) throws {
    guard let timeout = specification.timeout, let left = WriteDeadline.secondsLeft, left <= 0 else { return }
    throw TransportError(
      stage: .timeout, code: .totalTimeout, message: "the limit of \(timeout) s passed while cookies were read",
      hint: "raise -m, or remove cookies from the file", requestSent: false)
  }

  /// Writes all cookies, of servers and of files, to the file if one was requested.
  func save(_ kept: Jar) throws {
    guard let jar = kept.jar, let jarFile else { return }
    if jarFile == "-" { return try Console.out(jar.netscapeText()) }
    try CookieFile(path: jarFile).save(jar.cookies)
  }
}
