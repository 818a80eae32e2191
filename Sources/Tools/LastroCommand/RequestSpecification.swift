// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroEveryday
import LastroSupport

/// A request as specified on the command line or on a line of a batch.
struct RequestSpecification: Sendable {
  enum Body: Sendable {
    case bytes([UInt8])
    case file(String)
    /// A file that is sent without a content type.
    case upload(String)
    /// Standard input, sent as it arrives.
    case standardInput
    case form([FormField])
  }

  enum Backoff: Sendable, Equatable {
    case constant(Double)
    case exponential(Double)

    /// Parses `constant:S` or `exponential:S`.
    init?(_ text: String) {
      let parts = text.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, let first = parts[1].first, first != "+", first != "-",
        let seconds = Double(parts[1]), seconds.isFinite
      else { return nil }
      switch parts[0] {
      case "constant": self = .constant(seconds)
      case "exponential": self = .exponential(seconds)
      default: return nil
      }
    }
  }

  var url: String
  var method: String?
  var headers: [(name: String, value: String)] = []
  /// The lower-case names of fields that must not be added by default.
  var removedHeaders: Set<String> = []
  var body: Body?
  var cacert: String?
  var capath: String?
  var tlsVersion: String?
  var tlsMax: String?
  var ciphers: String?
  var tls13Ciphers: String?
  var certStatus = false
  var spiffe: [String] = []
  var keyLog: String?
  var cert: String?
  var key: String?
  var proxy: String?
  var noProxy: [String] = []
  var resolve: [String] = []
  var family: AddressFamily?
  var unixSocket: String?
  var httpVersion: String?
  var maxRedirects: Int?
  var maxBody: Int?
  var connectTimeout: Double?
  var attemptTimeout: Double?
  var idleTimeout: Double?
  var timeout: Double?
  var retries: Int?
  var backoff: Backoff?
  var retryAll = false
  var bearer: String?
  var basic: String?
  var digest: String?

  init(url: String) { self.url = url }

  /// Returns the validated request.
  func request() throws -> ResourceRequest {
    try checkNumbers()
    var options = RequestOptions()
    options.timeouts = try timeouts()
    options.maximumBodyBytes = maxBody
    if let maxRedirects { options.redirects = .follow(limit: maxRedirects) }
    if retryAll { options.idempotency = .idempotent }
    options.connection = try connection()
    let body = try requestBody()
    let fields =
      isChunked(body) ? requestHeaders().filter { $0.0.lowercased() != "transfer-encoding" } : requestHeaders()
    return try ResourceRequest(
      method: method ?? (body.isEmpty ? "GET" : "POST"), url: url, headers: RawHeaders(fields), body: body,
      options: options)
  }

  private func checkNumbers() throws {
    for (name, value) in [("--max-body", maxBody), ("--max-redirects", maxRedirects), ("--retries", retries)] {
      if let value, value < 0 {
        throw ConfigurationError("\(name) \(value) is out of range", hint: "give 0 or more")
      }
    }
    if [bearer, basic, digest].filter({ $0 != nil }).count > 1 {
      throw ConfigurationError("--bearer, --basic and --digest exclude each other", hint: "give one of them")
    }
  }

  /// Returns the fields. `-H` takes precedence over `--bearer` and `--basic`, as in curl.
  private func requestHeaders() -> [(String, String)] {
    var headers = headers.map { ($0.name, $0.value) }
    if decides(on: "Authorization") { return headers }
    if let bearer { headers.append(("Authorization", "Bearer \(bearer)")) }
    if let basic { headers.append(("Authorization", "Basic \(Data(basic.utf8).base64EncodedString())")) }
    return headers
  }

  /// Returns whether `-H` names the field.
  func decides(on name: String) -> Bool {
    let name = name.lowercased()
    return removedHeaders.contains(name) || headers.contains { $0.name.lowercased() == name }
  }

  /// Whether `-H 'Transfer-Encoding: chunked'` requests the default: a body of unknown length is sent in chunks.
  private func isChunked(_ body: RequestBody) -> Bool { asksForChunks && body.length == nil }

  private var asksForChunks: Bool {
    headers.contains { $0.name.lowercased() == "transfer-encoding" && $0.value.lowercased() == "chunked" }
  }

  private func requestBody() throws -> RequestBody {
    // Use curl's default, so that its command lines work unchanged. A Content-Type header field takes precedence.
    let type = removedHeaders.contains("content-type") ? nil : "application/x-www-form-urlencoded"
    switch body {
    case nil: return .empty
    case .bytes(let bytes) where asksForChunks:
      return RequestBody(source: Self.oneChunk(Data(bytes)), contentType: type)
    case .bytes(let bytes): return .raw(Data(bytes), contentType: type)
    case .file(let path): return try .file(path: path, contentType: type)
    case .upload(let path): return try .file(path: path)
    case .standardInput: return RequestBody(source: Self.standardInput)
    case .form(let fields):
      var form = MultipartForm()
      for field in fields { try field.add(to: &form) }
      return try .multipart(form)
    }
  }

  /// Returns the source of a body of unknown length that consists of one chunk.
  private static func oneChunk(_ bytes: Data) -> RequestBody.Source {
    .stream(length: nil, isReplayable: true) {
      var rest = bytes.isEmpty ? nil : bytes
      return { rest.take() }
    }
  }

  /// The pieces of standard input, which can be sent once.
  private static var standardInput: RequestBody.Source {
    .stream(length: nil, isReplayable: false) {
      let reader = StandardInputReader()
      return { try await reader.next() }
    }
  }

  /// Returns the validated timeouts.
  func timeouts() throws -> Timeouts {
    func duration(_ seconds: Double?, _ name: String) throws -> Duration? {
      guard let seconds else { return nil }
      guard seconds.isFinite, seconds > 0, seconds <= 31_536_000 else {
        throw ConfigurationError(
          "\(name) \(seconds) is out of range", hint: "give a positive number of seconds, 31536000 at most")
      }
      return .seconds(seconds)
    }
    let total = try duration(timeout, "--timeout")
    let attemptGiven = try duration(attemptTimeout, "--attempt-timeout")
    // As in curl, a timeout may be longer than the one that contains it. It can then never take effect, so it is left
    // out.
    func shorter(_ part: Duration?, than whole: Duration?) -> Duration? {
      guard let part, let whole, part >= whole else { return part }
      return nil
    }
    let attempt = shorter(attemptGiven, than: total)
    let connectGiven = try duration(connectTimeout, "--connect-timeout") ?? .seconds(10)
    let connect = shorter(shorter(connectGiven, than: attempt), than: total)
    let idleGiven = try duration(idleTimeout, "--idle-timeout") ?? .seconds(60)
    let idle = shorter(shorter(idleGiven, than: attempt), than: total)
    return try Timeouts(connect: connect, attempt: attempt, idle: idle, total: total)
  }

  /// Returns the validated connection options.
  func connection() throws -> ConnectionOptions {
    var options = ConnectionOptions()
    switch httpVersion {
    case nil: break
    case "1.1": options.httpVersion = .http1
    case "2": options.httpVersion = .http2
    case let other?:
      throw ConfigurationError("the HTTP version \"\(other.onOneLine)\" is unknown", hint: "give 1.1 or 2")
    }
    options.tls = try tls()
    if let proxy {
      options.proxy = proxy.isEmpty ? .none : .url(proxy, bypass: noProxy)
    } else if !noProxy.isEmpty {
      options.proxy = .environmentBypassing(noProxy)
    }
    options.resolutions = try resolve.map(Self.resolution)
    if let family { restrict(&options, to: family) }
    options.unixSocketPath = unixSocket
    return options
  }

  private func tls() throws -> TLSOptions {
    var tls = TLSOptions()
    switch (cacert, capath) {
    case (nil, nil): break
    case (let file?, nil): tls.roots = .file(file)
    case (nil, let directory?): tls.roots = .directory(directory)
    default: throw ConfigurationError("--cacert and --capath exclude each other", hint: "give one of them")
    }
    switch tlsVersion {
    case nil, "1.2": break
    case "1.3": tls.minimumVersion = .v1_3
    case let other?:
      throw ConfigurationError("the TLS version \"\(other.onOneLine)\" is unknown", hint: "give 1.2 or 1.3")
    }
    switch tlsMax {
    case nil, "default": break
    case "1.2": tls.maximumVersion = .v1_2
    case "1.3": tls.maximumVersion = .v1_3
    case let other?:
      throw ConfigurationError(
        "the maximum TLS version \"\(other.onOneLine)\" is not supported", hint: "give 1.2, 1.3 or default")
    }
    if let cert {
      tls.identity = .init(certificate: .file(cert), key: key.map(TLSOptions.PEM.file))
    } else if key != nil {
      throw ConfigurationError("--key needs --cert", hint: "give the certificate as well")
    }
    tls.legacyCiphers = ciphers?.split(separator: ":").map(String.init)
    tls.cipherSuites = tls13Ciphers?.split(separator: ":").map(String.init)
    tls.requiresStapledStatus = certStatus
    if !spiffe.isEmpty {
      tls.peer = .spiffe(Set(try spiffe.map { text throws(ConfigurationError) in try SPIFFEID(text) }))
    }
    tls.keyLogFile = keyLog
    return tls
  }

  /// Restricts connections to an address family. `localhost` needs a resolution, because no resolver is called for it.
  private func restrict(_ options: inout ConnectionOptions, to family: AddressFamily) {
    options.resolver = AddressFamily.Resolver(family)
    guard let origin = try? Origin(url), origin.host == "localhost",
      !options.resolutions.contains(where: { $0.host == origin.host && $0.port == origin.port })
    else { return }
    options.resolutions.append(.init(host: origin.host, port: origin.port, addresses: [family.loopback]))
  }

  /// Parses curl's `HOST:PORT:ADDRESS[,ADDRESS]…`, with an IPv6 address in brackets or bare.
  static func resolution(_ text: String) throws -> ConnectionOptions.Resolution {
    let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, let port = Int(digits: parts[1]), (1...65_535).contains(port),
      !parts[2].isEmpty
    else {
      throw ConfigurationError("--resolve \(text.onOneLine) cannot be parsed", hint: "write HOST:PORT:ADDRESS")
    }
    let addresses = parts[2].split(separator: ",").map { $0.filter { $0 != "[" && $0 != "]" } }
    return .init(host: String(parts[0]), port: port, addresses: addresses)
  }
}

extension RequestSpecification {
  /// Returns the requested interceptors: retries, and then the digest authenticator, which must see the request as it
  /// is sent.
  func interceptors() throws -> [any HTTPResourceInterceptor] {
    try retryInterceptors() + digestInterceptors()
  }

  private func digestInterceptors() throws -> [any HTTPResourceInterceptor] {
    guard let digest else { return [] }
    guard let colon = digest.firstIndex(of: ":") else {
      throw ConfigurationError("the value of --digest has no colon", hint: "write USER:PASSWORD")
    }
    // An invalid URL is refused later with its own error.
    guard let origin = try? Origin(url) else { return [] }
    return [
      try DigestAuthenticator(
        user: String(digest[..<colon]), password: Secret(String(digest[digest.index(after: colon)...])),
        origins: [origin])
    ]
  }

  private func retryInterceptors() -> [any HTTPResourceInterceptor] {
    guard let retries, retries > 0 else { return [] }
    let limit = Retry.Backoff.Truncation.maxRetries(retries)
    let strategy: Retry.Backoff =
      switch backoff ?? .exponential(1) {
      case .constant(let seconds): .constant(delay: Retry.seconds(seconds), until: limit)
      case .exponential(let seconds):
        .exponential(baseDelay: Retry.seconds(seconds), scale: Retry.Backoff.doubling, until: limit)
      }
    return [RetryInterceptor(policy: .backoff(strategy), eligibility: retryAll ? .any : .standard)]
  }
}
