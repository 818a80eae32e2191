// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroHTTP
internal import LastroSupport

/// Opens streams on the engine: TCP and TLS, which libcurl connects as for a fetch, and UDP.
/// ``CurlNetworkStack/dialer`` describes the behavior.
extension CurlTransport: Dialer, LoopDialer, TLSFileDialer {
  /// Opens a byte stream.
  ///
  /// - Throws: `TransportError` with stage `request`, `resolve`, `connect`, `proxy`, `tls`, `trust`, `limit` (code
  ///   `queue_full`: too many streams wait to be dialed), `timeout` or `cancelled`. The codes are those of fetches that
  ///   fail for the same reason. If connecting failed, `systemCode` is the `errno`.
  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    try await openStream(.bytes, request)
  }

  /// Opens a datagram stream: a UDP socket that receives datagrams from one address only.
  ///
  /// Names are resolved by the system, and the first address with a route is used. Dials that ask for the same name at
  /// the same time share its look-up; at most 16 names are looked up at a time in a process. Fixed name answers apply.
  /// The local interface applies too, as the name of an interface or a local address, but not as a host name. Proxies
  /// are not used, and a Unix socket is refused.
  ///
  /// - Throws: `TransportError`, as ``dial(_:)``; stage `request`, code `unsupported`, for TLS, a Unix socket, or an
  ///   unusable local interface; stage `limit`, code `queue_full`, if 4,096 streams of this process already wait for
  ///   the addresses of their names.
  package func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream {
    try await openStream(.datagrams, request)
  }

  /// Refuses a host whose key is pinned, by the current rules.
  ///
  /// - Throws: `TransportError`, stage `trust`, code `plaintext_refused`.
  package func checkPlaintext(_ request: DialRequest) throws(TransportError) {
    if request.tls != nil || request.role == .proxy { return }
    let rules = JudgePanel(standing: settings.trustJudge, (request.connection ?? connection).tls)
    let target = TrustTarget(host: try Self.host(request.host), port: request.port)
    try rules.checkPlaintext(target)
  }

  /// Returns the revisions of the engine's judge, of the request's judge, and of the files that the TLS options name.
  package func trustRevisions(for request: DialRequest) -> [UInt64] {
    let options = (request.connection ?? connection).tls
    let judges = JudgePanel(standing: settings.trustJudge, options)
    return judges.revisions + (request.tls == nil ? [] : fileRevisions.numbers(of: options))
  }

  package func lookAtFiles(for options: ConnectionOptions?) {
    _ = fileRevisions.numbers(of: (options ?? connection).tls)
  }

  package func identityRevisions(for options: ConnectionOptions?) -> [UInt64] {
    fileRevisions.identityNumbers(of: (options ?? connection).tls)
  }

  /// The loop for HTTP over the engine's streams.
  package var loop: EventLoop? { loops[0].loop }
}

extension CurlTransport {
  /// Opens a stream of bytes or of datagrams.
  func openStream(_ kind: StreamDial.Kind, _ request: DialRequest) async throws(TransportError) -> CurlStream {
    let dial = try dial(kind, request)
    return try await dial.answer.value { dial.giveUp() }.get()
  }

  /// Starts a dial.
  private func dial(_ kind: StreamDial.Kind, _ request: DialRequest) throws(TransportError) -> StreamDial {
    let host = try Self.host(request.host)
    guard (1...65_535).contains(request.port) else { throw .portOutOfRange(request.port) }
    let name = try request.tls?.serverName.map { name throws(TransportError) in try Self.host(name) } ?? host
    let protocols = try ALPNOffer.wireForm(request.tls?.applicationProtocols ?? [])
    if kind == .datagrams { try checkDatagrams(request) }
    if Task.isCancelled { throw .cancelled() }
    let own = ownOptions(request.connection)
    let loop = try pickStreamLoop()
    let dial = StreamDial(
      kind, request, host: host, target: TrustTarget(host: name, port: request.port), protocols: protocols,
      options: own ?? settings.defaults, loop: loop.loop)
    loop.streams.increment()
    if !loop.loop.inbox.post(.dial(dial)) {
      loop.streams.decrement()
      throw .shutDown
    }
    return dial
  }

  private func checkDatagrams(_ request: DialRequest) throws(TransportError) {
    if request.tls != nil {
      throw .refused(.unsupported, "the engine has no TLS for datagrams", hint: "dial a stream of bytes")
    }
    if (request.connection ?? connection).unixSocketPath != nil {
      throw .refused(.unsupported, "datagrams are sent over UDP only", hint: "leave unixSocketPath nil")
    }
  }

  static func host(_ text: String) throws(TransportError) -> HostName {
    do {
      return try HostName(text)
    } catch {
      throw .refused(.invalidOption, error.message, hint: error.hint)
    }
  }
}

extension CurlTransport {
  /// The engine's options and limits, for HTTP over streams of its dialers.
  package var exchange: DialerTransport.Configuration {
    var exchange = settings.engine
    // Connections of dialers are not reported.
    exchange.connectionObserver = nil
    exchange.connection = connection
    return exchange
  }
}
