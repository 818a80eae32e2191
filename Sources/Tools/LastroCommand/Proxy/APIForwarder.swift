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
    // The task also ends if the client has gone.
    defer {
      relay.abandon()
      task.cancel()
    }
    guard case .head(let head)? = relay.next() else {
      try send(
        .refusal(502, relay.failure ?? "the API did not respond"), to: request, connection, closing: closing)
      return !closing
    }
    let writer = ProxyResponseWriter(head, to: request, base: base, closing: closing)
    try connection.write(writer.head)
    var left = cut ?? .max
    while true {
      switch relay.next() {
      case .chunk(let chunk)?:
        let part = chunk.prefix(left)
        try connection.write(writer.chunk(part))
        left -= part.count
        if part.count == chunk.count, left > 0 { continue }
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

  private func resourceRequest(_ request: LoopbackRequest) throws(TransportError) -> ResourceRequest {
    guard request.target.hasPrefix("/") else {
      throw .refused(.invalidURL, "the target of the request is not a path", hint: "use this address as a base URL")
    }
    let fields = request.headers.fields.filter {
      let name = $0.name.lowercased()
      return !MockTarget.framing.contains(name) && !Self.own.contains(name)
    }
    let hasBody = !request.body.isEmpty || request.headers["Content-Length"] != nil
    return try ResourceRequest(
      method: request.method, url: (base.hasSuffix("/") ? String(base.dropLast()) : base) + request.target,
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

  init(_ response: HTTPResponse, to request: LoopbackRequest, base: String, closing: Bool) {
    let status = response.status.code
    hasBody = request.method != "HEAD" && status != 204 && status != 304
    var text = "HTTP/1.1 \(status) \(response.status.reasonPhrase)\r\n"
    let isDecoded = response.headerFields[.contentEncoding] != nil
    let length = isDecoded ? nil : response.headerFields[.contentLength]
    for field in response.headerFields where !MockTarget.framing.contains(field.name.canonicalName) {
      var value = field.value
      if field.name == .location, let host = request.headers["Host"], value.hasPrefix(base) {
        value = "http://\(host)/" + value.dropFirst(base.count).drop { $0 == "/" }
      }
      text += "\(field.name.rawName): \(value)\r\n"
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
