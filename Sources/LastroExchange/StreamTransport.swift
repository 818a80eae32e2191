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

  private let dialer: any Dialer
  private let role: ServerTrust.Role
  private let reuse: Duration
  private let idle = Lock<Idle?>(nil)

  /// - Parameters:
  ///   - dialer: opens streams; does TLS for `https`.
  ///   - role: who answers: the server that matters, or a proxy on the way.
  ///   - reuse: how long a connection that nothing uses is kept. Default 2 s.
  package init(over dialer: any Dialer, role: ServerTrust.Role, reuse: Duration = .seconds(2)) {
    self.dialer = dialer
    self.role = role
    self.reuse = reuse
  }

  deinit { idle.withLock { $0 }?.closing.cancel() }

  package func execute(_ request: TransferRequest) async throws(TransportError) -> TransferResponse {
    let bytes = try Self.bytes(of: request)
    let countdown = Countdown(request.deadline)
    let key = Key(
      scheme: request.head.scheme ?? "", authority: request.head.authority ?? "", connection: request.connection)
    let stream = try await stream(for: key, request)
    var exchange = StreamExchange(
      over: stream, asking: request.head.method == .head ? .head : .ordinary,
      within: ExchangeTimes(countdown, idle: request.idleTimeout, code: request.deadlineCode))
    do throws(TransportError) {
      try await exchange.send(bytes)
      let head = try HTTPResponse(try await exchange.receiveHead())
      let body = try await exchange.collectBody(upTo: request.delivery.maximumBytes)
      if exchange.keepsStream, request.head.headerFields[.connection]?.lowercased() != "close" {
        keep(stream, for: key)
      } else {
        stream.close()
      }
      return TransferResponse(head: head, body: ResponseBody(body), facts: exchange.facts)
    } catch {
      stream.close()
      var error = error
      error.facts = error.facts ?? exchange.facts
      throw error
    }
  }

  private func keep(_ stream: any ByteStream, for key: Key) {
    let closing = Task { [weak self, weak stream, reuse] in
      do { try await Task.sleep(for: reuse) } catch { return }
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
      if kept.key == key, kept.since.duration(to: .now) < reuse { return kept.stream }
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

  private static func bytes(of request: TransferRequest) throws(TransportError) -> Data {
    let body: Data
    switch request.body.source {
    case .empty: body = Data()
    case .bytes(let bytes): body = bytes
    case .file, .stream:
      throw .refused(.unsupported, "only bodies in memory can be sent here", hint: "collect the body first")
    }
    var writer = try RequestWriter(request.head)
    try writer.add(request.head.headerFields)
    // RFC 9110 §8.6: a method that gives content a meaning tells that there is none.
    let mayHaveBody = [.post, .put, .patch].contains(request.head.method)
    if mayHaveBody || !body.isEmpty, !request.head.headerFields.contains(.contentLength) {
      try writer.add([.contentLength: String(body.count)])
    }
    return Data(try writer.head()) + body
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
