// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Lastro
import LastroCurl
import LastroExchange

/// The flags of a request, with curl's names where curl has them.
struct FetchFlags: ParsableArguments {
  @Option(name: [.customShort("X"), .customLong("request")], help: "Method. Default GET, or POST with a body.")
  var method: String?
  @Flag(name: [.customShort("I"), .customLong("head")], help: "HEAD: print heads alone.")
  var head = false
  @Flag(name: [.customShort("G"), .customLong("get")], help: "Put the data of -d into the URL's query.")
  var get = false

  @Option(
    name: [.customShort("H"), .customLong("header")],
    help: "Header field as 'Name: value'; 'Name;' sends it empty, 'Name:' not at all. Repeatable.")
  var headers: [String] = []
  @Option(name: [.customShort("A"), .customLong("user-agent")], help: "User-Agent; '' for none.")
  var userAgent: String?
  @Option(name: [.customShort("e"), .customLong("referer")], help: "Referer.")
  var referer: String?
  @Option(name: [.customShort("r"), .customLong("range")], help: "Bytes to ask for: 0-99, 100-, -100.")
  var range: String?

  @OptionGroup var bodyFlags: BodyFlags
  @OptionGroup var connection: ConnectionFlags
  @OptionGroup var pins: PinFlags
  @OptionGroup var way: ViaFlags
  @Option(
    name: .customLong("connect-to"),
    help: "Connect elsewhere: HOST:PORT:OTHERHOST:OTHERPORT, each may be empty. Repeatable.")
  var connectTo: [String] = []
  @Option(
    name: [.customShort("E"), .customLong("cert")], help: "PEM file of the client certificate (chain, leaf first).")
  var cert: String?
  @Option(help: "PEM file of its key. Default: in the certificate's file.")
  var key: String?

  @Flag(name: .customLong("http1.1"), help: "HTTP/1.1 only.")
  var http1 = false
  @Flag(
    name: [.customLong("http2"), .customLong("http2-prior-knowledge")],
    help: "HTTP/2; over plain http with prior knowledge.")
  var http2 = false

  @Option(
    name: [.customLong("max-redirects"), .customLong("max-redirs")],
    help: "Most redirects to follow; 0 returns the 3xx answer. Default 20.")
  var maxRedirects: Int?
  @Option(
    name: [.customLong("max-body"), .customLong("max-filesize")],
    help: "Most bytes of the decoded body. Default: no limit; batch 10 MiB.")
  var maxBody: Int?

  @Option(name: .customLong("attempt-timeout"), help: "Seconds for one attempt.")
  var attemptTimeout: Double?
  @Option(name: .customLong("idle-timeout"), help: "Seconds without a byte moving. Default 60.")
  var idleTimeout: Double?
  @Option(
    name: [.customShort("m"), .customLong("max-time"), .customLong("timeout")],
    help: "Seconds for everything, retries included.")
  var timeout: Double?

  @Option(
    name: [.customLong("retry"), .customLong("retries")],
    help: "Most retries of what is eligible: see --retry-all. Default 0.")
  var retries: Int?
  @Option(help: "Wait before retries: constant:S or exponential:S. Default exponential:1.")
  var backoff: String?
  @Option(
    name: .customLong("retry-delay"),
    help: "Seconds before each retry: --backoff constant:S. Default, and for 0: --backoff.")
  var retryDelay: Double?
  @Flag(
    name: [.customLong("retry-all"), .customLong("retry-all-errors")],
    help: "Retry any failure with any method, also where the server may act twice.")
  var retryAll = false

  @Option(name: [.customLong("bearer"), .customLong("oauth2-bearer")], help: "Sends 'Authorization: Bearer TOKEN'.")
  var bearer: String?
  @Option(
    name: [.customShort("u"), .customLong("user")], help: "USER:PASSWORD, sent by Basic unless --digest says otherwise."
  )
  var user: String?
  @Flag(help: "Basic: the default.")
  var basic = false
  @Flag(help: "Answers a Digest challenge of the URL's host and port with -u.")
  var digest = false
  @OptionGroup var accepted: AcceptedFlags

  func validate() throws {
    try way.validate(with: connection)
    if !connectTo.isEmpty, !way.isEmpty { throw ValidationError("--connect-to and --via exclude each other.") }
    if !connectTo.isEmpty, connection.unixSocket != nil {
      throw ValidationError("--connect-to and --unix-socket exclude each other.")
    }
    if http1, http2 { throw ValidationError("--http1.1 and --http2 exclude each other.") }
    if basic, digest { throw ValidationError("--basic and --digest exclude each other.") }
    if basic || digest, user == nil {
      throw ValidationError("\(basic ? "--basic" : "--digest") needs -u USER:PASSWORD.")
    }
    if let user, !user.contains(":") {
      throw ValidationError("-u has no colon; write USER:PASSWORD, or USER: for an empty password.")
    }
  }

  /// - Parameter isSilent: whether nothing is told on standard error.
  func specification(url: String, isSilent: Bool = false) throws -> RequestSpecification {
    var result = RequestSpecification(url: url)
    if !url.contains("://") {
      result.url = "https://" + url
      let shown = Runner.withoutUserInformation(result.url)
      if !isSilent { Console.error("lastro: the URL has no scheme; fetching \(shown.onOneLine)") }
    }
    result.method = method
    try setHeaders(of: &result)
    try bodyFlags.apply(to: &result, inQuery: get)
    if head {
      if !get, result.body != nil { throw ValidationError("-I and a body exclude each other.") }
      result.method = method ?? "HEAD"
    }
    connection.apply(to: &result)
    result.cert = cert
    result.key = key
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
    return result
  }

  private func setHeaders(of result: inout RequestSpecification) throws {
    for (name, value, text) in try headers.map({ (try Self.header($0), $0) }).map({ ($0.name, $0.value, $1) }) {
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

  /// `Name: value`, or curl's `Name;` for an empty value. The raw text is checked where the request is made.
  static func header(_ text: String) throws -> (name: String, value: String) {
    if let colon = text.firstIndex(of: ":") {
      let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      return (String(text[..<colon]), String(value))
    }
    if text.hasSuffix(";") { return (String(text.dropLast()), "") }
    throw ValidationError("-H \(text.prefix { $0 != " " }) has no colon; write 'Name: value'.")
  }

  /// The engine's options for a request.
  func engine(_ judge: PinJudge?, for specification: RequestSpecification) -> CurlConfiguration {
    var engine = pins.engine(judge)
    if specification.removedHeaders.contains("user-agent") { engine.userAgent = nil }
    if specification.removedHeaders.contains("accept") { engine.sendsAccept = false }
    if specification.removedHeaders.contains("accept-encoding") { engine.decompresses = false }
    return engine
  }

  /// What fetches: the engine, or HTTP over what --via or --connect-to put over it.
  func stack(
    on engine: CurlTransport, configuration: StackConfiguration = StackConfiguration()
  ) throws(ConfigurationError) -> TransportNetworkStack {
    guard !connectTo.isEmpty else { return try way.stack(on: engine, configuration: configuration) }
    var rules: [ConnectTo] = []
    for text in connectTo { rules.append(try ConnectTo(text)) }
    let dialer = ElsewhereDialer(base: CurlDialer(transport: engine), rules: rules)
    return TransportNetworkStack(
      transport: try DialerTransport(over: dialer, configuration: engine.exchange), configuration: configuration)
  }
}
