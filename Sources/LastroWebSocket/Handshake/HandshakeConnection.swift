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

/// Reads an HTTP/1.1 answer off a stream. For one task at a time.
package final class HandshakeConnection: Sendable {
  package static let maximumHeadBytes = 256 * 1024
  package static let maximumFields = 512
  package static let maximumInterimResponses = 16

  /// The head of an answer, and how its body is delimited.
  struct Head: Sendable {
    var head: ResponseHead
    var framing: ResponseFraming
  }

  let stream: any ByteStream
  private let idle: Duration?
  private let buffer = Lock([UInt8]())

  init(_ stream: any ByteStream, idle: Duration?) {
    self.stream = stream
    self.idle = idle
  }

  /// What is known about the exchange.
  var facts: TransferFacts {
    let facts = stream.facts
    return TransferFacts(
      httpVersion: "1.1", remoteAddress: facts.remoteAddress, remotePort: facts.remotePort,
      connectionID: facts.localPort.map(Int64.init), trust: facts.trust)
  }

  /// Bytes behind the head.
  func takeLeftover() -> [UInt8] {
    buffer.withLock { bytes in
      defer { bytes = [] }
      return bytes
    }
  }

  func readHead() async throws(TransportError) -> Head {
    var machine = ResponseHeadMachine(
      maximumHeadBytes: Self.maximumHeadBytes, maximumFields: Self.maximumFields,
      maximumInterimResponses: Self.maximumInterimResponses, acceptsUpgrade: true)
    while true {
      while let line = takeLine() {
        do throws(HeadViolation) {
          let event = try line.withBytes { bytes throws(HeadViolation) in try machine.consume(line: bytes) }
          if case .final(let head) = event { return Head(head: head, framing: machine.framing) }
        } catch {
          throw malformed(error)
        }
      }
      guard buffer.withLock({ $0.count }) <= Self.maximumHeadBytes else {
        throw TransportError(
          stage: .limit, code: .headTooLarge, message: "the response head exceeds \(Self.maximumHeadBytes) bytes")
      }
      guard let data = try await stream.read(upTo: 65_536, within: idle) else {
        throw TransportError(
          stage: .response, code: .connectionLost, message: "the server ended the connection before it answered")
      }
      buffer.withLock { $0 += data }
    }
  }

  private func takeLine() -> [UInt8]? {
    buffer.withLock { bytes in
      guard let end = bytes.firstIndex(of: 0x0A) else { return nil }
      defer { bytes.removeFirst(end + 1) }
      return Array(bytes[...end])
    }
  }

  private func malformed(_ violation: HeadViolation) -> TransportError {
    switch violation.kind {
    case .headTooLarge, .tooManyFields:
      TransportError(stage: .limit, code: .headTooLarge, message: violation.message)
    case .tooManyInterimResponses:
      TransportError(stage: .limit, code: .tooManyInterimResponses, message: violation.message)
    default: TransportError(stage: .response, code: .malformedResponse, message: violation.message)
    }
  }

  /// What comes of the body of an answer that is none to a WebSocket, and why that is not the whole of it.
  ///
  /// - Parameters:
  ///   - limit: most bytes of it.
  ///   - patience: longest time spent on it, however the bytes come.
  func readBody(_ head: Head, upTo limit: Int, within patience: Duration) async -> (bytes: Data, cut: BodyCut?) {
    let countdown = Countdown(patience)
    var machine = ResponseBodyMachine(head.framing, hasNoBody: head.head.status == 204 || head.head.status == 304)
    var body: [UInt8] = []
    do throws(TransportError) {
      var next = takeLeftover()
      repeat {
        try consume(next, by: &machine, into: &body)
        if body.count > limit { return (Data(body.prefix(limit)), .limit(limit)) }
        if machine.isDone { return (Data(body), nil) }
        next = try await moreOfBody(countdown)
      } while !next.isEmpty
      return (Data(body), machine.mayEndHere ? nil : .truncated)
    } catch {
      return (Data(body.prefix(limit)), countdown.left == .zero ? .late : BodyCut(error))
    }
  }

  private func consume(
    _ bytes: [UInt8], by machine: inout ResponseBodyMachine, into body: inout [UInt8]
  ) throws(TransportError) {
    do throws(HeadViolation) {
      try bytes.withBytes { bytes throws(HeadViolation) in try machine.consume(bytes, into: &body) }
    } catch {
      throw malformed(error)
    }
  }

  /// Empty at the end.
  private func moreOfBody(_ countdown: Countdown) async throws(TransportError) -> [UInt8] {
    let left = try countdown.remaining()
    let limit = left.map { left in idle.map { min($0, left) } ?? left } ?? idle
    return try await stream.read(upTo: 65_536, within: limit).map { Array($0) } ?? []
  }
}

extension BodyCut {
  fileprivate static let truncated = Self(
    stage: .response, code: .truncatedBody, message: "the connection ended before the body did")
  fileprivate static let late = Self(
    stage: .response, code: .truncatedBody, message: "it did not end in the time that is spent on a refusal")
}

extension HandshakeConnection.Head {
  /// As the pipeline takes it. A `Location` with a scheme of WebSocket's own is read as that of HTTP.
  func response() throws(TransportError) -> HTTPResponse {
    var fields = HTTPFields()
    for field in head.fields {
      guard let name = HTTPField.Name(field.name) else { continue }
      let value = name == .location ? WebSocketURL.asHTTP(field.value) : field.value
      fields.append(HTTPField(name: name, value: value))
    }
    return HTTPResponse(status: .init(code: head.status, reasonPhrase: head.reason), headerFields: fields)
  }
}

/// `ws` and `wss` (RFC 6455 §3).
package enum WebSocketURL {
  /// The same URL with the scheme that its handshake uses.
  static func asHTTP(_ url: String) -> String {
    for (own, http) in [("wss:", "https:"), ("ws:", "http:")] where url.lowercased().hasPrefix(own) {
      return http + url.dropFirst(own.count)
    }
    return url
  }

  /// - Throws: code `invalid_url` for a fragment, which a WebSocket's URL may not have.
  package static func request(_ url: String, headers: RawHeaders) throws(TransportError) -> ResourceRequest {
    guard !url.utf8.contains(UInt8(ascii: "#")) else {
      throw .invalidURL("the URL of a WebSocket has a fragment", hint: "write # as %23, or leave it out")
    }
    return try ResourceRequest(url: asHTTP(url), headers: headers)
  }
}
