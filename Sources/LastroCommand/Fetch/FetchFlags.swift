// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Lastro

/// The flags of a request, with curl's names where curl has them.
struct FetchFlags: ParsableArguments {
  @Option(name: [.customShort("X"), .customLong("request")], help: "Method. Default GET, or POST with -d.")
  var method: String?

  @Option(name: [.customShort("H"), .customLong("header")], help: "Header field as 'Name: value'. Repeatable.")
  var headers: [String] = []

  @Option(
    name: [.customShort("d"), .customLong("data")],
    help: "Body, or @FILE, or @- for standard input. Repeated texts are joined with '&'. A file is sent as it is.")
  var data: [String] = []

  @Option(
    name: [.customShort("F"), .customLong("form")],
    help: """
      Part of a form: NAME=TEXT, NAME=@FILE, or NAME=<FILE for the text of a file; behind it ';type=TYPE' and \
      ';filename=NAME'. - for standard input. Repeatable.
      """)
  var form: [String] = []
  @Option(name: .customLong("form-string"), help: "Part of a form: NAME=TEXT, whatever the text has. Repeatable.")
  var formStrings: [String] = []

  @OptionGroup var connection: ConnectionFlags
  @OptionGroup var pins: PinFlags
  @OptionGroup var way: ViaFlags
  @Option(help: "PEM file of the client certificate (chain, leaf first).")
  var cert: String?
  @Option(help: "PEM file of its key. Default: in the certificate's file.")
  var key: String?

  @Flag(name: .customLong("http1.1"), help: "HTTP/1.1 only.")
  var http1 = false
  @Flag(name: .customLong("http2"), help: "HTTP/2; over plain http with prior knowledge.")
  var http2 = false

  @Option(name: .customLong("max-redirects"), help: "Most redirects to follow; 0 returns the 3xx answer. Default 20.")
  var maxRedirects: Int?
  @Option(name: .customLong("max-body"), help: "Most bytes of the decoded body. Default: no limit; batch 10 MiB.")
  var maxBody: Int?

  @Option(name: .customLong("attempt-timeout"), help: "Seconds for one attempt.")
  var attemptTimeout: Double?
  @Option(name: .customLong("idle-timeout"), help: "Seconds without a byte moving. Default 60.")
  var idleTimeout: Double?
  @Option(name: .customLong("timeout"), help: "Seconds for everything, retries included.")
  var timeout: Double?

  @Option(help: "Most retries of what is eligible: see --retry-all. Default 0.")
  var retries: Int?
  @Option(help: "Wait before retries: constant:S or exponential:S. Default exponential:1.")
  var backoff: String?
  @Flag(
    name: .customLong("retry-all"),
    help: "Retry any failure with any method, also where the server may act twice.")
  var retryAll = false

  @Option(help: "Sends 'Authorization: Bearer TOKEN'.")
  var bearer: String?
  @Option(help: "Sends Basic credentials, USER:PASSWORD.")
  var basic: String?
  @Option(help: "Answers a Digest challenge of the URL's host and port, USER:PASSWORD.")
  var digest: String?

  func validate() throws { try way.validate(with: connection) }

  func specification(url: String) throws -> RequestSpecification {
    var result = RequestSpecification(url: url)
    result.method = method
    result.headers = try headers.map(Self.header)
    result.body = try body()
    connection.apply(to: &result)
    result.cert = cert
    result.key = key
    if http1, http2 { throw ValidationError("--http1.1 and --http2 exclude each other.") }
    result.httpVersion = http1 ? "1.1" : http2 ? "2" : nil
    result.maxRedirects = maxRedirects
    result.maxBody = maxBody
    result.attemptTimeout = attemptTimeout
    result.idleTimeout = idleTimeout
    result.timeout = timeout
    result.retries = retries
    if let backoff {
      guard let parsed = RequestSpecification.Backoff(backoff) else {
        throw ValidationError(
          "--backoff \(backoff.onOneLine) cannot be parsed; write constant:SECONDS or exponential:SECONDS.")
      }
      result.backoff = parsed
    }
    result.retryAll = retryAll
    result.bearer = bearer
    result.basic = basic
    result.digest = digest
    return result
  }

  /// `Name: value`, or curl's `Name;` for an empty value. The raw text is checked where the request is made.
  static func header(_ text: String) throws -> (name: String, value: String) {
    if let colon = text.firstIndex(of: ":") {
      let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      return (String(text[..<colon]), String(value))
    }
    if text.hasSuffix(";") { return (String(text.dropLast()), "") }
    throw ValidationError("-H \(text.prefix { $0 != " " }) has no colon; write 'Name: value'.")
  }

  private func body() throws -> RequestSpecification.Body? {
    guard form.isEmpty, formStrings.isEmpty else {
      guard data.isEmpty else { throw ValidationError("-F and -d exclude each other.") }
      return .form(try form.map { try FormField($0) } + formStrings.map { try FormField($0, isLiteral: true) })
    }
    guard let first = data.first else { return nil }
    if data == ["@-"] { return .bytes(try StandardInput.readToEnd()) }
    if data.count == 1, first.hasPrefix("@") { return .file(String(first.dropFirst())) }
    guard !data.contains(where: { $0.hasPrefix("@") }) else {
      throw ValidationError("-d @FILE and another -d exclude each other.")
    }
    return .bytes(Array(data.joined(separator: "&").utf8))
  }
}
