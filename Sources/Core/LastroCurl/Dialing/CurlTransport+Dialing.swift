// SPDX-License-Identifier: Apache-2.0

internal import Lastro
package import LastroHTTP

extension CurlTransport {
  /// Starts a dial.
  func dial(_ kind: StreamDial.Kind, _ request: DialRequest) throws(TransportError) -> StreamDial {
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
    loop.streams.begin()
    if !loop.loop.post(StreamCommand.dial(dial)) {
      loop.streams.end()
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

  func trustRevisions(for request: DialRequest) -> [UInt64] {
    let options = (request.connection ?? connection).tls
    let judges = JudgePanel(standing: settings.trustJudge, additional: options.trustJudge)
    return judges.revisions + (request.tls == nil ? [] : fileRevisions.numbers(of: options))
  }

  func checkPlaintext(_ request: DialRequest) throws(TransportError) {
    if request.tls != nil || request.role == .proxy { return }
    let rules = JudgePanel(
      standing: settings.trustJudge, additional: (request.connection ?? connection).tls.trustJudge)
    let target = TrustTarget(host: try Self.host(request.host), port: request.port)
    try rules.checkPlaintext(target)
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
    var exchange = DialerTransport.Configuration()
    exchange.engine = settings.engine
    // Connections of dialers are not reported.
    exchange.engine.connectionObserver = nil
    exchange.connection = connection
    return exchange
  }

  /// The loop for HTTP over the engine's streams.
  var loopForDialers: EventLoop { loops[0].loop }
}
