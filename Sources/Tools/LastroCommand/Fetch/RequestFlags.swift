// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials

/// The flags of a request except its body, with curl's names where curl has them.
struct RequestFlags: ParsableArguments {
  @Option(name: [.customShort("X"), .customLong("request")], help: "Method. Default GET, or POST with a body.")
  var method: String?
  @Flag(name: [.customShort("I"), .customLong("head")], help: "Send HEAD, and print only the heads.")
  var head = false
  @Flag(name: [.customShort("G"), .customLong("get")], help: "Put the data of -d into the URL's query.")
  var get = false

  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: """
      Header field as 'Name: value'; 'Name;' sends it empty, 'Name:' not at all. @FILE for a file's lines, @- for \
      standard input. Repeatable.
      """)
  var headers: [String] = []
  @Option(name: [.customShort("A"), .customLong("user-agent")], help: "User-Agent; '' for none.")
  var userAgent: String?
  @Option(name: [.customShort("e"), .customLong("referer")], help: "Referer.")
  var referer: String?
  @Option(name: [.customShort("r"), .customLong("range")], help: "Bytes to request: 0-99, 100- or -100.")
  var range: String?

  @Option(
    name: .customLong("connect-to"),
    help: "Connect elsewhere: HOST:PORT:OTHERHOST:OTHERPORT, each may be empty. Repeatable.")
  var connectTo: [String] = []

  @Flag(name: .customLong("http1.1"), help: "HTTP/1.1 only.")
  var http1 = false
  @Flag(
    name: [.customLong("http2"), .customLong("http2-prior-knowledge")],
    help: "HTTP/2; over plain http with prior knowledge.")
  var http2 = false

  @Option(
    name: [.customLong("max-redirects"), .customLong("max-redirs")],
    help: "Maximum number of redirects to follow; with 0 a 3xx response is a failure (exit status 22). Default 20.")
  var maxRedirects: Int?
  @Option(
    name: [.customLong("max-body"), .customLong("max-filesize")],
    help: "Maximum number of bytes of the decoded body. Default: no limit; batch 10 MiB.")
  var maxBody: Int?

  @Option(name: .customLong("attempt-timeout"), help: "Seconds for one attempt.")
  var attemptTimeout: Double?
  @Option(name: .customLong("idle-timeout"), help: "Seconds without a byte in either direction. Default 60.")
  var idleTimeout: Double?
  @Option(
    name: [.customShort("m"), .customLong("max-time"), .customLong("timeout")],
    help: "Seconds for everything, retries included.")
  var timeout: Double?

  @Option(
    name: [.customLong("retry"), .customLong("retries")],
    help: "Maximum number of retries of eligible failures: see --retry-all. Default 0.")
  var retries: Int?
  @Option(help: "Wait before retries: constant:S or exponential:S. Default exponential:1.")
  var backoff: String?
  @Option(
    name: .customLong("retry-delay"),
    help: "Seconds before each retry: --backoff constant:S. Default, and for 0: --backoff.")
  var retryDelay: Double?
  @Flag(
    name: [.customLong("retry-all"), .customLong("retry-all-errors")],
    help: "Retry any failure with any method, even if the server may act twice.")
  var retryAll = false

  @Option(
    name: [.customLong("bearer"), .customLong("oauth2-bearer")], help: "Token to send as 'Authorization: Bearer TOKEN'."
  )
  var bearer: String?
  @Option(
    name: [.customShort("u"), .customLong("user")], help: "USER:PASSWORD, sent by Basic unless --digest says otherwise."
  )
  var user: String?
  @Flag(help: "Basic: the default.")
  var basic = false
  @Flag(help: "Answer a Digest challenge of the URL's host and port with -u.")
  var digest = false

  func validate() throws {
    if http1, http2 { throw ValidationError("--http1.1 and --http2 exclude each other.") }
    if basic, digest { throw ValidationError("--basic and --digest exclude each other.") }
    if basic || digest, user == nil {
      throw ValidationError("\(basic ? "--basic" : "--digest") needs -u USER:PASSWORD.")
    }
    if let user, !user.contains(":") {
      throw ValidationError("-u has no colon; write USER:PASSWORD, or USER: for an empty password.")
    }
  }

  /// Sets everything except the body.
  func apply(to result: inout RequestSpecification) throws {
    result.method = method ?? (head ? "HEAD" : nil)
    try setHeaders(of: &result)
    result.httpVersion = http1 ? "1.1" : http2 ? "2" : nil
    result.maxRedirects = maxRedirects
    result.maxBody = maxBody
    result.attemptTimeout = attemptTimeout
    result.idleTimeout = idleTimeout
    result.timeout = timeout
    result.retries = retries
    result.backoff = try parsedBackoff()
    result.retryAll = retryAll
    result.bearer = bearer
    if digest { result.digest = user } else { result.basic = user }
  }

  private func setHeaders(of result: inout RequestSpecification) throws {
    for text in try headers.flatMap(Self.lines) {
      let (name, value) = try Self.header(text)
      if value.isEmpty, text.contains(":") {
        result.removedHeaders.insert(name.lowercased())
      } else {
        result.headers.append((name, value))
      }
    }
    for (name, value) in [
      ("User-Agent", userAgent), ("Referer", referer), ("Range", range.map { "bytes=\($0)" }),
    ] {
      guard let value, !result.decides(on: name) else { continue }
      if value.isEmpty { result.removedHeaders.insert(name.lowercased()) } else { result.headers.append((name, value)) }
    }
  }

  private func parsedBackoff() throws -> RequestSpecification.Backoff? {
    if let retryDelay {
      guard backoff == nil else { throw ValidationError("--backoff and --retry-delay exclude each other.") }
      guard retryDelay >= 0, retryDelay.isFinite else {
        throw ValidationError("--retry-delay \(retryDelay) is out of range; give 0 or more.")
      }
      return retryDelay == 0 ? nil : .constant(retryDelay)
    }
    guard let backoff else { return nil }
    guard let parsed = RequestSpecification.Backoff(backoff) else {
      throw ValidationError(
        "--backoff \(backoff.onOneLine) cannot be parsed; write constant:SECONDS or exponential:SECONDS.")
    }
    return parsed
  }

  /// Returns a field, or the lines of a file with fields.
  private static func lines(_ text: String) throws -> [String] {
    guard text.hasPrefix("@") else { return [text] }
    let lines = try StandardInput.text(String(text.dropFirst()), of: "-H").split(whereSeparator: \.isNewline)
    return lines.map(String.init)
  }

  /// Parses `Name: value`, or curl's `Name;` for an empty value. The request validates the raw text later.
  static func header(_ text: String) throws -> (name: String, value: String) {
    if let colon = text.firstIndex(of: ":") {
      let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      return (String(text[..<colon]), String(value))
    }
    if text.hasSuffix(";") { return (String(text.dropLast()), "") }
    throw ValidationError("-H \(text.prefix { $0 != " " }) has no colon; write 'Name: value'.")
  }
}
