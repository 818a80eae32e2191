// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import HTTPTypes
public import Lastro
internal import LastroSupport
internal import LastroWire

/// Signs requests to AWS, and to services that speak its protocols, with Signature Version 4.
///
/// ```swift
/// let signer = try AWSSigner(service: "s3", region: "eu-west-1", origins: [origin]) { try await role.credentials() }
/// configuration.signers = [signer]
/// configuration.interceptors = [signer, .retry]  // corrects a wrong clock
/// ```
///
/// Every attempt gets a new signature, with the credentials and the time at which it is sent. The signature covers the method, the
/// path, the query, the body and the header fields, except for those that proxies and layers of the stack may change,
/// such as `User-Agent`, `Accept-Encoding`, `Cookie` and `traceparent`.
///
/// Path and query are sent in the percent-encoding that AWS signs: everything but `A–Z a–z 0–9 - . _ ~` is encoded, and
/// `+` is a plus sign, not a space.
///
/// As an interceptor, which is optional, the signer corrects a wrong clock: if the server refuses a request because of
/// its time, the signer takes the time from the response's `Date` from then on, and the request is sent once more if it
/// is idempotent. A response to HEAD has no body that would name the reason, so it corrects nothing. Without that, keep the
/// system's clock within 5 minutes of the right time; S3 allows 15.
public struct AWSSigner: RequestSigner, HTTPResourceInterceptor, StandardSigner, PromptInterceptor,
  ExplainableInterceptor
{
  /// The treatment of the body.
  public enum Payload: String, Sendable, Hashable {
    /// The SHA-256 of the body is part of the signature. A body that can be read only once is refused, and a file is
    /// read twice.
    case signed
    /// The body is not part of the signature, and only TLS protects it. Origins must use `https` or be on this machine.
    /// S3 accepts it, and few other services do for some of their operations; the others refuse the request.
    case unsigned
    /// The body is signed in chunks of 64 KiB while it is sent, which S3 supports. Its length must be known. Redirects
    /// are not followed.
    case chunked
  }

  /// The origins whose requests are signed.
  public let origins: [Origin]
  private let service: String
  private let region: String
  private let payload: Payload
  private let time: TimeSource
  /// The difference between the servers' clock and this machine's.
  private let skew = Lock(Duration.zero)
  private let credentials: @Sendable () async throws -> AWSCredentials

  /// Makes a signer.
  ///
  /// - Parameters:
  ///   - service: the service's name in signatures, such as `s3`, `execute-api` or `dynamodb`.
  ///   - region: the region, such as `eu-west-1`.
  ///   - origins: the origins whose requests are signed; at least one.
  ///   - payload: the treatment of the body. Default ``Payload/signed``.
  ///   - time: the clock. Default: the system's.
  ///   - credentials: returns the credentials. It is called for every request, so cache what takes time, and replace
  ///     temporary credentials before they expire. An error that it throws fails the attempt before anything is sent.
  /// - Throws: `ConfigurationError` if there is no origin, if service or region is empty or has other characters than
  ///   lower-case letters, digits and hyphens, if the service is `s3express`, if a chunked payload is not for S3, or if an unsigned payload would be
  ///   sent without TLS.
  public init(
    service: String, region: String, origins: [Origin], payload: Payload = .signed, time: TimeSource = .continuous,
    credentials: @escaping @Sendable () async throws -> AWSCredentials
  ) throws(ConfigurationError) {
    guard !origins.isEmpty else {
      throw ConfigurationError(
        "the list of origins whose requests are signed is empty",
        hint: "name at least one, such as https://bucket.s3.eu-west-1.amazonaws.com")
    }
    for (name, value) in [("service", service), ("region", region)] {
      guard !value.isEmpty, value.utf8.count <= 64, value.utf8.allSatisfy(Self.isPartOfScope) else {
        throw ConfigurationError(
          "the AWS \(name) is empty, or has other characters than lower-case letters, digits and hyphens",
          hint: "write it as in the service's endpoints, such as s3 and eu-west-1")
      }
    }
    guard service != "s3express" else {
      throw ConfigurationError(
        "directory buckets of S3 (s3express) need the credentials of a session, which the signer does not create",
        hint: "use a general purpose bucket, with the service s3")
    }
    guard payload != .chunked || Self.isS3(service) else {
      throw ConfigurationError(
        "the service \(service) does not accept a chunked payload", hint: "only S3 does: sign the payload")
    }
    if payload == .unsigned, let origin = origins.first(where: { !$0.keepsSecrets }) {
      throw ConfigurationError(
        "an unsigned payload would go to \(origin) without encryption, where anyone can change it",
        hint: "use https, or sign the payload")
    }
    self.origins = origins
    self.service = service
    self.region = region
    self.payload = payload
    self.time = time
    self.credentials = credentials
  }

  private static func isPartOfScope(_ byte: UInt8) -> Bool {
    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D
  }

  private static func isS3(_ service: String) -> Bool {
    ["s3", "s3-outposts", "s3-object-lambda"].contains(service)
  }

  // MARK: signing

  package var signature: String { "AWSSigner, for \(service) in \(region), with \(payload.rawValue) payload" }
  package var usesBodyDigest: Bool { payload == .signed }
  package var replacesBody: Bool { payload == .chunked }

  /// Signs a request.
  ///
  /// - Throws: the error of the credentials' closure; an error with code `invalid_body` if the payload's treatment does
  ///   not suit the body, and with code `invalid_url` if the path for another service than S3 has a dot segment; `ConfigurationError` if OpenSSL has no SHA-256 or no memory.
  public func sign(
    _ request: ResourceRequest, bodyDigest: MessageDigest?, context: AttemptContext
  ) async throws -> ResourceRequest {
    let credentials = try await credentials()
    let signature = AWSSignature(time: signingTime, region: region, service: service)
    var request = request
    request.head.path = try respelled(request.head.path)
    try request.setHeader("X-Amz-Date", signature.time)
    request.head.headerFields[fields: Self.token] = []
    if let token = credentials.sessionToken { try request.setHeader(Self.token.rawName, token) }
    let length = request.body.length
    let hash = try payloadHash(of: request.body, bodyDigest)
    if Self.isS3(service) || payload != .signed { try request.setHeader("X-Amz-Content-Sha256", hash) }
    let isChunked = hash == AWSSignature.streaming
    if isChunked, let length {
      try request.setHeader("X-Amz-Decoded-Content-Length", String(length))
      let codings = request.head.headerFields[values: .contentEncoding]
      try request.setHeader("Content-Encoding", (["aws-chunked"] + codings).joined(separator: ","))
      request.options.redirects = RedirectPolicy.none
    }
    let key = try signature.key(from: credentials.secretAccessKey)
    let parts = self.parts(of: request, payload: hash)
    let value = try signature.signature(of: parts, key: key)
    if isChunked, let length {
      request.body = AWSChunkedBody(signature: signature, key: key, seed: value).framing(request.body, length: length)
    }
    try request.setHeader(
      "Authorization",
      "\(AWSSignature.algorithm) Credential=\(credentials.accessKeyID)/\(signature.scope), "
        + "SignedHeaders=\(parts.signedNames), Signature=\(value)")
    return request
  }

  /// Returns the target in AWS's percent-encoding. A percent-encoded dot becomes a plain one, and all services but S3
  /// sign the path without dot segments: a segment of dots would be another resource than the one that was named.
  private func respelled(_ target: String?) throws(TransportError) -> String {
    let target = AWSSignature.respelledTarget(target ?? "/")
    let path = target.prefix { $0 != "?" }
    guard Self.isS3(service) || !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
      throw .refused(
        .invalidURL, "a segment of the path is . or .., which \(service) takes for another resource",
        hint: "write the path without such segments, and check names that users gave")
    }
    return target
  }

  private func payloadHash(of body: RequestBody, _ digest: MessageDigest?) throws(TransportError) -> String {
    switch payload {
    case .unsigned: return AWSSignature.unsigned
    case .chunked where body.isEmpty: return AWSSignature.emptyHash
    case .chunked:
      guard body.length != nil else {
        throw .refused(
          .invalidBody, "the body has no known length, which a chunked payload of AWS needs",
          hint: "give the stream its length")
      }
      return AWSSignature.streaming
    case .signed:
      guard let digest else {
        throw .refused(
          .invalidBody, "the body can be read only once, so its hash cannot be signed before it is sent",
          hint: "use a replayable body, or an unsigned or chunked payload")
      }
      return digest.hexadecimal
    }
  }

  /// Returns a URL that carries the signature in its query. Whoever has it can make the request until it expires, so
  /// treat it as a secret. Nothing is sent.
  ///
  /// ```swift
  /// let url = try await signer.presigned(.init(url: "https://bucket.s3.eu-west-1.amazonaws.com/report.pdf"))
  /// ```
  ///
  /// - Parameters:
  ///   - request: the request. Its header fields are signed, and must be sent as they are. For S3 the body is not
  ///     signed; for other services it is.
  ///   - lifetime: the time until the URL expires: 1 second to 7 days. Temporary credentials may end it earlier.
  ///     Default 15 minutes.
  /// - Throws: `ConfigurationError` if the lifetime is out of range or the origin is not one of ``origins``; the error
  ///   of the credentials' closure; an error with code `invalid_body` if the body of another service than S3 can be
  ///   read only once.
  public func presigned(_ request: ResourceRequest, expiresIn lifetime: Duration = .seconds(900)) async throws -> String
  {
    guard lifetime >= .seconds(1), lifetime <= .seconds(604_800) else {
      throw ConfigurationError(
        "a presigned URL cannot expire after \(lifetime.brief)", hint: "give a time from 1 s to 7 days")
    }
    guard let origin = Origin(request.head), origins.contains(origin) else {
      throw ConfigurationError(
        "the origin of the URL to presign is not one that the signer signs for",
        hint: "add it to the signer's origins")
    }
    let credentials = try await credentials()
    let signature = AWSSignature(time: signingTime, region: region, service: service)
    var hash = AWSSignature.unsigned
    if !Self.isS3(service) {
      let digest = try await MessageDigest.computed(of: request.body)
      guard let digest else {
        throw TransportError.refused(
          .invalidBody, "the body can be read only once, so its hash cannot be signed", hint: "use a replayable body")
      }
      hash = digest.hexadecimal
    }
    var request = request
    request.head.path = try respelled(request.head.path)
    var items = [
      ("X-Amz-Algorithm", AWSSignature.algorithm),
      ("X-Amz-Credential", "\(credentials.accessKeyID)/\(signature.scope)"), ("X-Amz-Date", signature.time),
      ("X-Amz-Expires", String(lifetime.components.seconds)),
      ("X-Amz-SignedHeaders", parts(of: request, payload: hash).signedNames),
    ]
    if let token = credentials.sessionToken { items.append(("X-Amz-Security-Token", token.reveal())) }
    append(items, to: &request)
    let key = try signature.key(from: credentials.secretAccessKey)
    append(
      [("X-Amz-Signature", try signature.signature(of: parts(of: request, payload: hash), key: key))], to: &request)
    return request.url
  }

  private func append(_ items: [(String, String)], to request: inout ResourceRequest) {
    let text = items.map { $0 + "=" + $1.percentEncoded(keeping: .unreserved) }.joined(separator: "&")
    let path = request.head.path ?? "/"
    request.head.path = path + (path.utf8.contains(UInt8(ascii: "?")) ? "&" : "?") + text
  }

  // MARK: the parts of a request

  private var signingTime: String {
    let seconds = (time.sinceEpoch() + skew.withLock { $0 }).components.seconds
    let (day, second) = seconds.floored(by: 86_400)
    let date = HTTPDate.date(ofDay: day)
    func digits(_ number: Int64, _ count: Int = 2) -> String { String(String(number + 10_000).suffix(count)) }
    return digits(date.year, 4) + digits(date.month) + digits(date.day) + "T" + digits(second / 3_600)
      + digits(second % 3_600 / 60) + digits(second % 60) + "Z"
  }

  private func parts(of request: ResourceRequest, payload: String) -> AWSSignature.Request {
    let target = (request.head.path ?? "/").split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    var fields = [(name: "host", value: request.options.hostField ?? request.head.authority ?? "")]
    for field in request.head.headerFields {
      let name = field.name.canonicalName
      if !Self.unsigned.contains(name), !name.hasPrefix("proxy-") { fields.append((name, field.value)) }
    }
    return AWSSignature.Request(
      method: request.head.method.rawValue,
      path: Self.isS3(service) ? String(target[0]) : AWSSignature.normalized(String(target[0])),
      query: target.count > 1 ? String(target[1]) : "",
      fields: fields, payload: payload)
  }

  /// The header fields that are not signed: those of one connection, and those that change behind the signer.
  private static let unsigned: Set<String> = [
    "accept-encoding", "authorization", "baggage", "connection", "content-length", "cookie", "expect", "host",
    "keep-alive", "te", "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade", "user-agent",
    "x-amzn-trace-id",
  ]
  // Forced: letters and hyphens always form a valid field name (RFC 9110 §5.6.2), and there is no fallback.
  // swift-format-ignore: NeverForceUnwrap
  private static let token = HTTPField.Name("X-Amz-Security-Token")!

  // MARK: a wrong clock

  /// The difference from which on a clock counts as wrong. AWS accepts 5 minutes.
  private static let maximumSkew = Duration.seconds(240)
  private static let statuses: Set<Int> = [400, 401, 403]
  private static let refusals = ["RequestTimeTooSkewed", "RequestExpired", "Signature expired", "Signature not yet"]

  package var explanation: String { "corrects a wrong clock by the server's; then repeats the request once" }

  /// Returns `nil`, for undecided, after a status by which the origins refuse a time: the action depends on the body.
  package func explainedAction(after error: HTTPFetchError<any Error>, to request: ResourceRequest) -> Retry.Action? {
    let isRefusal = Origin(request.head).map(origins.contains) ?? false
    return isRefusal && error.statusCode.map { Self.statuses.contains($0.code) } ?? false ? nil : Retry.Action.none
  }

  /// Asks for one more attempt if the server refused the time of the request and its `Date` shows that this machine's
  /// clock is wrong.
  public func interceptFailed(
    _ request: ResourceRequest?, response: ResourceResponse?, body: Data?, error: HTTPFetchError<any Error>,
    context: AttemptContext
  ) async -> Retry.Action {
    guard let request, let origin = Origin(request.head), origins.contains(origin), let response,
      Self.statuses.contains(response.status.code), let body
    else { return .none }
    let text = String(decoding: body.prefix(4096), as: UTF8.self)
    let now = time.sinceEpoch()
    guard Self.refusals.contains(where: text.contains), let date = response.headers["Date"],
      let server = HTTPDate.seconds(date, now: now.components.seconds)
    else { return .none }
    let difference = Duration.seconds(server) - now
    // The clock is wrong, or was corrected since. Another call may have noticed it already.
    let isWrong = skew.withLock { skew in
      let isWrong = max(difference.magnitude, (difference - skew).magnitude) > Self.maximumSkew
      if isWrong { skew = difference }
      return isWrong
    }
    let isRepeated = context.retryState.errors.contains {
      ($0 as? HTTPFetchError<any Error>)?.statusCode == response.status
    }
    return isWrong && !isRepeated ? .retry : .none
  }
}

extension Duration {
  fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
