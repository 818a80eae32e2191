// SPDX-License-Identifier: Apache-2.0

extension LoopbackServer {
  /// Starts an HTTP/2 server: over TLS with ALPN, or in plaintext with prior knowledge (RFC 9113 §3.3). It multiplexes
  /// streams, respects the client's windows and replenishes those for uploads. ``LoopbackResponse/fault`` adds faults.
  ///
  /// ```swift
  /// let server = try LoopbackServer.http2(tls: LoopbackTLS(identity)) { request in
  ///   request.path == "/busy" ? .fault(.refusedStream) : .text("fine")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - endpoint: the endpoint to listen on. Default: a port that the kernel chooses.
  ///   - tls: the TLS options. Default: plaintext. If they contain no protocols, the server offers `h2`. A client that
  ///     negotiates `http/1.1`, if that is among them, is served over HTTP/1.1.
  ///   - respond: returns the response to a request. It runs on the connection's thread: while it blocks, all streams
  ///     of that connection wait. If it throws, the response is 500.
  /// - Throws: ``LoopbackError``.
  public static func http2(
    _ endpoint: LoopbackEndpoint = .ephemeral, tls: LoopbackTLS? = nil,
    respond: @escaping @Sendable (LoopbackRequest) throws -> LoopbackResponse
  ) throws(LoopbackError) -> LoopbackServer {
    try http2(endpoint, tls: tls, settings: LoopbackHTTP2Settings(), respond: respond)
  }

  /// Starts an HTTP/2 server that announces settings. They have no default, so that a call without them means the
  /// public function.
  package static func http2(
    _ endpoint: LoopbackEndpoint = .ephemeral, tls: LoopbackTLS? = nil, settings: LoopbackHTTP2Settings,
    respond: @escaping @Sendable (LoopbackRequest) throws -> LoopbackResponse
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer(endpoint, tls: tls.map(offeringHTTP2)) { connection in
      if connection.applicationProtocol == "http/1.1" { return try connection.serveHTTP(respond) }
      try LoopbackHTTP2Connection(connection, settings: settings).serve(respond)
    }
  }

  /// Starts an HTTP/2 server whose handler reads and writes frames itself, once per connection, for tests of invalid
  /// behavior.
  ///
  /// - Parameters:
  ///   - endpoint: the endpoint to listen on. Default: a port that the kernel chooses.
  ///   - tls: the TLS options. Default: plaintext. If they contain no protocols, the server offers `h2`.
  ///   - settings: the settings that the server announces.
  ///   - script: drives one connection, on its thread. It may block. Its error is recorded in ``errors`` and closes the
  ///     connection.
  /// - Throws: ``LoopbackError``.
  package static func http2Script(
    _ endpoint: LoopbackEndpoint = .ephemeral, tls: LoopbackTLS? = nil, settings: LoopbackHTTP2Settings = .init(),
    script: @escaping @Sendable (LoopbackHTTP2Connection) throws -> Void
  ) throws(LoopbackError) -> LoopbackServer {
    try LoopbackServer(endpoint, tls: tls.map(offeringHTTP2)) { connection in
      try script(LoopbackHTTP2Connection(connection, settings: settings))
    }
  }

  private static func offeringHTTP2(_ tls: LoopbackTLS) -> LoopbackTLS {
    var tls = tls
    if tls.applicationProtocols.isEmpty { tls.applicationProtocols = ["h2"] }
    return tls
  }
}
