// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroTesting

/// Forwards the requests of connections to an API.
struct APIForwarder: Sendable {
  /// The base URL of the API.
  let base: String
  let stack: TransportNetworkStack
  let faults: ServerFaults

  /// Fields of requests that are not forwarded, besides those of the connection: our stack sets them.
  private static let own: Set = ["host", "expect", "accept-encoding", "proxy-authorization"]

  /// Responds to the requests of a connection, on its thread.
  func serve(_ connection: LoopbackConnection) throws {
    while let request = try connection.readRequestOrRefuse() {
      if let refusal = LocalServer.refusal(of: request) {
        try send(refusal, to: request, connection, closing: true)
        return connection.close()
      }
      let effects = faults.effects(request.method, request.path)
      guard ServerFaults.wait(effects, connection) else { return }
      if effects.contains(.reset) { return connection.reset() }
      if effects.contains(.hang) { return connection.stall() }
      let isLast = connection.wantsClose(request)
      if let status = Self.status(in: effects) {
        try send(LoopbackResponse(status: status), to: request, connection, closing: isLast)
      } else {
        let cut = effects.compactMap { effect -> Int? in if case .cut(let count) = effect { count } else { nil } }.min()
        guard try forward(request, connection, cut: cut, closing: isLast) else { return }
      }
      if isLast { return connection.close() }
    }
  }

  private static func status(in effects: [ServerFault.Effect]) -> Int? {
    effects.compactMap { effect -> Int? in if case .status(let status) = effect { status } else { nil } }.first
  }

  private func send(
    _ response: LoopbackResponse, to request: LoopbackRequest, _ connection: LoopbackConnection, closing: Bool
  ) throws {
    try connection.write(response.head(closing: closing) + response.sentHTTP1Body(to: request.method))
  }

  /// Returns whether the connection can be used for another request.
  private func forward(
    _ request: LoopbackRequest, _ connection: LoopbackConnection, cut: Int?, closing: Bool
  ) throws -> Bool {
    let forwarded: ResourceRequest
    do {
      forwarded = try resourceRequest(request)
    } catch {
      try send(.refusal(400, "\(error)"), to: request, connection, closing: true)
      return false
    }
    let relay = ProxyRelay()
    let task = Task { [stack] in await relay.run(forwarded, stack) }
    defer {
      relay.abandon()
      task.cancel()
    }
    guard case .head(let head)? = relay.next(for: connection) else {
      try send(
        .refusal(502, relay.failure ?? "the API did not respond"), to: request, connection, closing: closing)
      return !closing
    }
    let writer = ProxyResponseWriter(head, to: request, location: location(of: head, for: forwarded), closing: closing)
    try connection.write(writer.head)
    var left = cut ?? .max
    while true {
      switch relay.next(for: connection) {
      case .chunk(let chunk)?:
        let part = chunk.prefix(left)
        try connection.write(writer.chunk(part))
        left -= part.count
        if part.count == chunk.count { continue }
        connection.closeWithoutNotify()
        return false
      case .end?:
        try connection.write(writer.end)
        if writer.isEndedByClosing { connection.close() }
        return !writer.isEndedByClosing
      case .head?, nil:
        // The response is not complete, and must not seem to be.
        connection.closeWithoutNotify()
        return false
      }
    }
  }

  /// The base URL without a slash at its end.
  private var prefix: String { base.hasSuffix("/") ? String(base.dropLast()) : base }

  /// Returns the `Location` of a response for clients of the proxy.
  private func location(of response: HTTPResponse, for request: ResourceRequest) -> String? {
    guard let text = response.headerFields[.location], let target = try? RequestTarget(prefix + "/"),
      let origin = try? Origin(base)
    else { return nil }
    return LocalLocation.text(text, from: request.url, origins: [origin], base: String(target.path.dropLast()))
  }

  private func resourceRequest(_ request: LoopbackRequest) throws(TransportError) -> ResourceRequest {
    guard request.target.hasPrefix("/") else {
      throw .refused(.invalidURL, "the target of the request is not a path", hint: "use this address as a base URL")
    }
    let dropped = MockTarget.connection.union(Self.own).union(
      MockTarget.named(by: request.head.values("Connection")))
    let fields = request.headers.fields.filter { !dropped.contains($0.name.lowercased()) }
    let hasBody = !request.body.isEmpty || request.headers["Content-Length"] != nil
    return try ResourceRequest(
      method: request.method, url: prefix + request.target,
      headers: RawHeaders(fields.map { ($0.name, $0.value) }),
      body: hasBody ? RequestBody.raw(Data(request.body)) : .empty)
  }
}

/// Writes the response of an API in the notation of HTTP/1.1.
private struct ProxyResponseWriter {
  let head: [UInt8]
  /// Whether the end of the connection is that of the body.
  private(set) var isEndedByClosing = false
  private var isChunked = false
  private var hasBody: Bool

  init(_ response: HTTPResponse, to request: LoopbackRequest, location: String?, closing: Bool) {
    let status = response.status.code
    hasBody = request.method != "HEAD" && status != 204 && status != 304
    var text = "HTTP/1.1 \(status) \(response.status.reasonPhrase)\r\n"
    let isDecoded = response.headerFields[.contentEncoding] != nil
    let length = isDecoded ? nil : response.headerFields[.contentLength]
    let dropped = MockTarget.framing.union(MockTarget.named(by: response.headerFields[values: .connection]))
    for field in response.headerFields where !dropped.contains(field.name.canonicalName) {
      text += "\(field.name.rawName): \(field.name == .location ? location ?? field.value : field.value)\r\n"
    }
    if let length {
      text += "Content-Length: \(length)\r\n"
    } else if hasBody {
      isChunked = request.head.version == "HTTP/1.1"
      isEndedByClosing = !isChunked
      if isChunked { text += "Transfer-Encoding: chunked\r\n" }
    }
    if closing || isEndedByClosing { text += "Connection: close\r\n" }
    head = Array((text + "\r\n").utf8)
  }

  func chunk(_ data: Data) -> [UInt8] {
    guard hasBody, !data.isEmpty else { return [] }
    guard isChunked else { return Array(data) }
    return Array("\(String(data.count, radix: 16))\r\n".utf8) + Array(data) + Array("\r\n".utf8)
  }

  var end: [UInt8] { isChunked ? Array("0\r\n\r\n".utf8) : [] }
}
