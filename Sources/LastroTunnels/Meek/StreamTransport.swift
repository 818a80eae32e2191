// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import Lastro
internal import LastroSupport
internal import LastroWire

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// HTTP/1.1 over the streams of a dialer: just enough for transports that are made of small exchanges. Bodies are collected.
///
/// A connection is used again when the answer allows it, and soon after: a server that closes an idle connection, just when
/// a request is on its way, leaves open whether it got it.
package final class StreamTransport: Transport {
  private struct Key: Equatable {
    var scheme: String
    var authority: String
    var connection: ConnectionOptions?
  }

  private struct Idle {
    var key: Key
    var stream: any ByteStream
    var since: ContinuousClock.Instant
    /// Closes it when nobody has taken it.
    var closing: Task<Void, Never>
  }

  private static let reuse = Duration.seconds(2)
  private static let readBytes = 32 * 1024

  private let dialer: any Dialer
  private let role: ServerTrust.Role
  private let idle = Lock<Idle?>(nil)

  /// - Parameters:
  ///   - dialer: opens streams; does TLS for `https`.
  ///   - role: who answers: the server that matters, or somebody on the way.
  package init(over dialer: any Dialer, role: ServerTrust.Role) {
    self.dialer = dialer
    self.role = role
  }

  deinit { idle.withLock { $0 }?.closing.cancel() }

  package func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let head = try Self.head(of: request)
    let countdown = Countdown(request.deadline)
    let key = Key(
      scheme: request.head.scheme ?? "", authority: request.head.authority ?? "", connection: request.connection)
    let stream = try await stream(for: key, request)
    var exchange = StreamExchange(stream, countdown: countdown, idle: request.idleTimeout, code: request.deadlineCode)
    do throws(TransportError) {
      try await exchange.send(head)
      let answer = try await exchange.receive(upTo: request.delivery.maximumBytes, method: request.head.method.rawValue)
      if answer.isReusable {
        keep(stream, for: key)
      } else {
        stream.close()
      }
      var response = try answer.response()
      response.facts.remoteAddress = stream.facts.remoteAddress
      response.facts.remotePort = stream.facts.remotePort
      response.facts.trust = stream.facts.trust
      return response
    } catch {
      stream.close()
      throw error
    }
  }

  private func keep(_ stream: any ByteStream, for key: Key) {
    let closing = Task { [weak self, weak stream] in
      do { try await Task.sleep(for: Self.reuse) } catch { return }
      if let self, let stream { drop(stream) }
    }
    let old = idle.withLock { idle in
      defer { idle = Idle(key: key, stream: stream, since: .now, closing: closing) }
      return idle
    }
    old?.closing.cancel()
    old?.stream.close()
  }

  private func drop(_ stream: any ByteStream) {
    let isIdle = idle.withLock { idle in
      guard idle?.stream === stream else { return false }
      idle = nil
      return true
    }
    if isIdle { stream.close() }
  }

  private func stream(for key: Key, _ request: TransferRequest) async throws(TransportError) -> any ByteStream {
    let kept = idle.withLock { idle in
      defer { idle = nil }
      return idle
    }
    if let kept {
      kept.closing.cancel()
      if kept.key == key, kept.since.duration(to: .now) < Self.reuse { return kept.stream }
      kept.stream.close()
    }
    let authority = try Authority(key.authority[...])
    var host = authority.host
    if host.hasPrefix("[") { host = String(host.dropFirst().dropLast()) }
    let isTLS = key.scheme == "https"
    do throws(TransportError) {
      return try await dialer.dial(
        DialRequest(
          host: host, port: authority.port ?? (isTLS ? 443 : 80),
          tls: isTLS ? DialRequest.TLS(applicationProtocols: ["http/1.1"]) : nil, role: role,
          connection: request.connection, connectTimeout: request.connectTimeout ?? request.deadline))
    } catch {
      throw error.beforeSending
    }
  }

  private static func head(of request: TransferRequest) throws(TransportError) -> Data {
    let body: Data
    switch request.body.source {
    case .empty: body = Data()
    case .bytes(let bytes): body = bytes
    case .file, .stream:
      throw .refused(.unsupported, "only bodies in memory can be sent here", hint: "collect the body first")
    }
    let fields = request.head.headerFields.withOneCookieField
    var text = "\(request.head.method.rawValue) \(request.head.path ?? "/") HTTP/1.1\r\n"
    if !fields.contains(where: { $0.name.canonicalName == "host" }) {
      text += "Host: \(request.head.authority ?? "")\r\n"
    }
    for field in fields { text += "\(field.name.rawName): \(field.value)\r\n" }
    if !request.body.isEmpty, !fields.contains(.contentLength) { text += "Content-Length: \(body.count)\r\n" }
    return Data((text + "\r\n").utf8) + body
  }
}

extension TransferRequest.Delivery {
  fileprivate var maximumBytes: Int {
    switch self {
    case .collected(let maximum): maximum
    case .streamed(let maximum), .streamedOnSuccess(let maximum, _):
      maximum ?? RequestOptions.defaultMaximumBodyBytes
    }
  }
}

/// One request and its answer over a stream.
private struct StreamExchange {
  struct Answer {
    var head: ResponseHead
    var body: Data
    var isReusable: Bool

    func response() throws(TransportError) -> TransferResponse {
      var fields = HTTPFields()
      for field in head.fields {
        guard let name = HTTPField.Name(field.name) else { continue }
        fields.append(HTTPField(name: name, value: field.value))
      }
      let status = HTTPResponse.Status(code: head.status, reasonPhrase: head.reason)
      return TransferResponse(
        head: HTTPResponse(status: status, headerFields: fields), body: ResponseBody(body),
        facts: TransferFacts(httpVersion: "1.\(head.version.minor)", bytesReceived: Int64(body.count)))
    }
  }

  private static let readBytes = 32 * 1024

  private let stream: any ByteStream
  private let countdown: Countdown
  private let idle: Duration?
  private let code: FailureCode
  private var reader = ResponseHeadReader()

  init(_ stream: any ByteStream, countdown: Countdown, idle: Duration?, code: FailureCode) {
    self.stream = stream
    self.countdown = countdown
    self.idle = idle
    self.code = code
  }

  mutating func send(_ bytes: Data) async throws(TransportError) {
    do throws(TransportError) {
      try await stream.write(bytes, within: limit)
    } catch {
      throw sent(error)
    }
  }

  mutating func receive(upTo maximum: Int, method: String) async throws(TransportError) -> Answer {
    var head: ResponseHead?
    while head == nil {
      guard let bytes = try await more() else {
        throw TransportError(
          stage: .response, code: .connectionLost, message: "the connection ended before an answer came",
          requestSent: true)
      }
      head = try read { (reader) throws(HeadViolation) in try reader.consume(bytes) }
    }
    guard let head else { throw .malformed("no head") }
    let hasBody = method != "HEAD" && head.status != 204 && head.status != 304
    if hasBody, let length = reader.framing.contentLength, length > Int64(maximum) {
      throw TransportError(
        stage: .limit, code: .bodyTooLarge,
        message: "the server announces a body of \(length) bytes, and at most \(maximum) are taken", requestSent: true)
    }
    var body = BodyCollector(hasBody ? reader.framing : nil, maximum: maximum)
    var input: Data? = reader.rest
    while !(try body.consume(input)) { input = try await more() }
    return Answer(head: head, body: body.bytes, isReusable: body.isDelimited && body.rest.isEmpty && head.isPersistent)
  }

  private mutating func read(
    _ body: (inout ResponseHeadReader) throws(HeadViolation) -> ResponseHead?
  ) throws(TransportError) -> ResponseHead? {
    do throws(HeadViolation) {
      return try body(&reader)
    } catch {
      let isLimit = error.kind == .headTooLarge || error.kind == .tooManyFields
      throw TransportError(
        stage: isLimit ? .limit : .response, code: isLimit ? .headTooLarge : .malformedResponse,
        message: error.message, requestSent: true)
    }
  }

  private func more() async throws(TransportError) -> Data? {
    do throws(TransportError) {
      return try await stream.read(upTo: Self.readBytes, within: limit)
    } catch {
      throw sent(error)
    }
  }

  private var limit: Duration? {
    guard let left = countdown.left else { return idle }
    return idle.map { min($0, left) } ?? left
  }

  private func sent(_ error: TransportError) -> TransportError {
    var error = error
    error.requestSent = true
    if error.code == .idleTimeout, countdown.left == .zero { error.code = code }
    return error
  }
}

extension ResponseHead {
  fileprivate var isPersistent: Bool {
    version.minor >= 1
      && !fields.contains { $0.name.lowercased() == "connection" && $0.value.lowercased().contains("close") }
  }
}
