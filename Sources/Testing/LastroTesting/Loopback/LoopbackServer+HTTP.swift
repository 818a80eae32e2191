// SPDX-License-Identifier: Apache-2.0

extension LoopbackServer {
  /// Starts a well-behaved HTTP/1.1 server. It supports keep-alive, request bodies by `Content-Length` or in chunks,
  /// `Expect: 100-continue` and `Connection: close`, and sends no body to HEAD.
  ///
  /// - Parameters:
  ///   - endpoint: the endpoint to listen on. Default: a port that the kernel chooses.
  ///   - tls: the TLS options. Default: plaintext.
  ///   - respond: returns the response to a request. It runs on the connection's thread, and may block. If it throws,
  ///     the response is 500.
  /// - Throws: ``LoopbackError``.
  public static func http(
    _ endpoint: LoopbackEndpoint = .ephemeral, tls: LoopbackTLS? = nil,
    respond: @escaping @Sendable (LoopbackRequest) throws -> LoopbackResponse
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer(endpoint, tls: tls) { connection in
      try connection.serveHTTP(respond)
    }
  }
}

extension LoopbackConnection {
  /// Responds to requests until the client is done, asks for `Connection: close`, or the response is a fault.
  ///
  /// - Throws: ``LoopbackError``: a malformed request (after a 400), or a connection that failed.
  public func serveHTTP(_ respond: (LoopbackRequest) throws -> LoopbackResponse) throws(LoopbackError) {
    while let request = try readRequestOrRefuse() {
      let response = (try? respond(request)) ?? LoopbackResponse(status: 500)
      if let fault = response.fault {
        return try perform(fault, with: response)
      }
      let closing = wantsClose(request.head) || response.fields.contains { Self.isClose($0) }
      try write(response.head(closing: closing) + response.sentHTTP1Body(to: request.method))
      if closing { return close() }
    }
  }

  private func readRequestOrRefuse() throws(LoopbackError) -> LoopbackRequest? {
    do {
      return try readRequest()
    } catch {
      if case .malformedRequest = error { try write(LoopbackResponse(status: 400).head(closing: true)) }
      throw error
    }
  }

  private static func isClose(_ field: RawRequestHead.Field) -> Bool {
    field.name.lowercased() == "connection" && field.value.lowercased() == "close"
  }

  private func wantsClose(_ head: RawRequestHead) -> Bool {
    let tokens = head.values("Connection").joined(separator: ",").lowercased()
    if head.version == "HTTP/1.0" { return !tokens.contains("keep-alive") }
    return tokens.contains("close")
  }

  private func perform(_ fault: LoopbackResponse.Fault, with response: LoopbackResponse) throws(LoopbackError) {
    switch fault {
    case .stall: stall()
    case .reset: reset()
    case .close: close()
    case .truncateBody(let count):
      try write(response.head(closing: false) + response.body.prefix(max(0, count)))
      closeWithoutNotify()
    case .stallBody(let count):
      try write(response.head(closing: false) + response.body.prefix(max(0, count)))
      stall()
    case .http2:
      let answer = LoopbackResponse.text("this fault needs LoopbackServer.http2", status: 500)
      try write(answer.head(closing: true) + answer.body)
      close()
    }
  }
}
