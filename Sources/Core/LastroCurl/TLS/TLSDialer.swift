// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroHTTP
internal import LastroSupport

extension Dialer {
  /// Returns a dialer that adds TLS to the streams of this one, even if those already use TLS.
  ///
  /// Servers are trusted as for a fetch: by roots, chain, host name, and the judges of the connection options and of
  /// the request. The judges are asked before any byte of the application is sent. Sessions are not resumed. A request
  /// without TLS is dialed through this dialer, unless a judge refuses that.
  ///
  /// This dialer gets a request for a plain stream with the role of a proxy, because pins apply to the TLS peer and not
  /// to the stream that carries it. `TLSOptions.requiresStapledStatus` is refused (code `unsupported`).
  ///
  /// ```swift
  /// let proxy = try Tunnel.socks5(host: "proxy.example.org", port: 1080, over: engine)
  /// let dialer = proxy.addingTLS()
  /// ```
  ///
  /// - Parameter connection: the options of requests that have none, and the judge of all. Only `tls` is used. Default:
  ///   system roots, no judge.
  /// - Returns: the dialer. Nothing is dialed yet. Its streams fail with stage `tls` or `trust` (`proxy` for a proxy's
  ///   handshake), and with the errors of this dialer.
  public func addingTLS(connection: ConnectionOptions = ConnectionOptions()) -> any Dialer {
    TLSDialer(over: self, connection: connection)
  }
}

/// A dialer that adds TLS to the streams of another dialer; see ``Dialer/addingTLS(connection:)``.
package struct TLSDialer: Dialer {
  /// The dialer whose streams carry TLS.
  package let below: any Dialer
  /// The TLS options of requests without options of their own. Its judge is always asked. Only `tls` is used.
  package let connection: ConnectionOptions
  private let revisions = TLSFileRevisions()
  private let latest = Lock(LatestFiles())

  /// Creates a dialer. Nothing is dialed yet.
  ///
  /// - Parameters:
  ///   - below: the dialer whose streams carry TLS.
  ///   - connection: the options of requests that have none, and the judge of all. Default: system roots, no judge.
  package init(over below: any Dialer, connection: ConnectionOptions = ConnectionOptions()) {
    self.below = below
    self.connection = connection
  }

  /// Opens a stream, and performs the TLS handshake on it if the request asks for TLS.
  ///
  /// - Throws: `TransportError` with stage `tls` or `trust` (`proxy` for a proxy's handshake), and the errors of the
  ///   dialer below.
  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard let tls = request.tls else {
      try checkPlaintext(request)
      return try await below.dial(request)
    }
    let countdown = Countdown(request.connectTimeout)
    let plan = try TLSPlan(request, tls, defaults: connection.tls)
    let target = "\(request.host.bracketedHost):\(request.port)"
    try await readFiles(for: plan, within: try countdown.remaining(to: target), target)
    var carrier = request
    carrier.tls = nil
    carrier.role = .proxy
    carrier.connectTimeout = try countdown.remaining(to: target)
    let stream = try await below.dial(carrier)
    do throws(TransportError) {
      return try await TLSStream.open(plan, StreamHandshake(over: stream, to: target, within: countdown))
    } catch {
      stream.close()
      throw error
    }
  }

  /// Reads the files of a plan.
  ///
  /// - Parameters:
  ///   - limit: the time limit; `nil` for none.
  ///   - target: host and port, for errors.
  private func readFiles(for plan: TLSPlan, within limit: Duration?, _ target: String) async throws(TransportError) {
    var answer = try await TLSFileReader.answer(to: plan.files, within: limit, for: target)
    latest.withLock { latest in
      if case .new(let store)? = answer.roots { latest.roots = store }
      guard let (source, finding) = answer.identities.first else { return }
      switch finding {
      case .new(let identity): latest.identity = (source, identity)
      // Unusable files do not replace earlier ones: a certificate and its key are seldom replaced at the same time.
      case .unusable:
        if let known = latest.identity, known.source == source { answer.identities[0].finding = .new(known.content) }
      }
    }
    try plan.contents.store(answer, now: monotonicNow())
  }

  /// Opens a datagram stream through the dialer below, unless a judge requires TLS for the host.
  ///
  /// - Throws: `TransportError`, as ``checkPlaintext(_:)`` and the dialer below.
  package func dialDatagrams(_ request: DialRequest) async throws(TransportError) -> any DatagramStream {
    try checkPlaintext(request)
    return try await below.dialDatagrams(request)
  }

  /// Asks the judges of the connection options and of the request, then the dialer below. Pins of servers do not apply
  /// to proxies.
  ///
  /// - Throws: `TransportError`, stage `trust`, code `plaintext_refused`; code `invalid_option` for a host that is not
  ///   a name.
  package func checkPlaintext(_ request: DialRequest) throws(TransportError) {
    if request.role == .server {
      let judges = JudgePanel(standing: connection.tls.trustJudge, request.connection?.tls ?? connection.tls)
      if !judges.isEmpty {
        try judges.checkPlaintext(TrustTarget(host: try CurlTransport.host(request.host), port: request.port))
      }
    }
    try below.checkPlaintext(request)
  }

  /// Returns the revisions of the judges of the connection options and of the request, of the files that their TLS
  /// options name, and of the dialer below.
  package func trustRevisions(for request: DialRequest) -> [UInt64] {
    let options = request.connection?.tls ?? connection.tls
    let judges = JudgePanel(standing: connection.tls.trustJudge, options)
    let numbers = request.tls == nil ? [] : revisions.numbers(of: options)
    return judges.revisions + numbers + below.trustRevisions(for: request)
  }
}

extension TLSDialer: LayeredDialer, TLSFileDialer {
  package var dialerBelow: (any Dialer)? { below }

  package func lookAtFiles(for options: ConnectionOptions?) {
    _ = revisions.numbers(of: options?.tls ?? connection.tls)
  }

  package func identityRevisions(for options: ConnectionOptions?) -> [UInt64] {
    revisions.identityNumbers(of: options?.tls ?? connection.tls)
  }
}

/// The latest contents of files, which may have no other owner between two dials.
private struct LatestFiles {
  var roots: RootStore?
  var identity: (source: TLSOptions.Identity, content: ClientIdentity)?
}
