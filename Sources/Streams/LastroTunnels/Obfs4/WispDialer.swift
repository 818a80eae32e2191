// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
package import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The dialer of ``Tunnel/wisp(host:port:certificate:mode:over:time:)``.
package struct WispDialer: TunnelDialer {
  /// The server.
  package let server: WispServer
  /// The dialer that reaches the server.
  package let below: any Dialer
  private let time: TimeSource

  /// Creates a tunnel; the server is first contacted by the first dial.
  ///
  /// - Parameters:
  ///   - server: the address, certificate and timing of the server.
  ///   - below: the dialer that reaches the server: directly, or through another tunnel.
  ///   - time: the time source for pauses, limits and the current hour. Default: the system's clock.
  package init(_ server: WispServer, over below: any Dialer, time: TimeSource = .continuous) {
    self.server = server
    self.below = below
    self.time = time
  }

  /// Opens a stream: creates a key, dials the server, and verifies that it knows the certificate's secret, all within
  /// the request's limit. A server does not respond to a client that it rejects. A wrong certificate, a wrong clock and
  /// a server of another kind are therefore only noticed when the limit passes.
  ///
  /// - Throws: `TransportError`; stage `proxy`: code `proxy_not_found` or `proxy_connect_failed` if the server cannot
  ///   be reached, `proxy_refused` if it closes the connection, `handshake_failed` for an invalid response, with an
  ///   `engineCode`: 1 no mark in 8,192 bytes, 2 wrong MAC, 3 wrong proof, 4 a key that gives no secret. Stage
  ///   `timeout`, code `connect_timeout`, if it is silent. Stage `request`, code `unsupported`, for TLS, and if
  ///   libcrypto does not support the algorithms of obfs4. Otherwise the errors of the dialer below. Nothing of the
  ///   application was sent.
  package func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard request.tls == nil else { throw .noTLS("the obfs4 tunnel") }
    _ = try NestedTarget(host: request.host, port: request.port)
    try checkPlaintext(request)
    let countdown = Countdown(request.connectTimeout, now: time.now)
    // Create the key pair before connecting, so that the server cannot measure how long its creation takes.
    let keyPair = try keyPair()
    let dialed = try server.request(for: request, within: try countdown.remaining())
    let stream: any ByteStream
    do throws(TransportError) {
      stream = try await below.dial(dialed)
    } catch {
      throw error.reaching(TransportError.wispServer).hidingAddress(of: server)
    }
    do throws(TransportError) {
      return try await open(over: stream, keyPair, within: countdown)
    } catch {
      stream.close()
      throw error.hidingAddress(of: server)
    }
  }

  private func keyPair() throws(TransportError) -> Obfs4KeyPair {
    do throws(Obfs4Failure) {
      return try Obfs4KeyPair.generate(using: .system)
    } catch {
      throw error.dialing
    }
  }

  /// Performs the handshake. If the limit or a cancellation interrupts it, the caller closes the stream, which ends the
  /// waiting task.
  private func open(
    over stream: any ByteStream, _ keyPair: Obfs4KeyPair, within countdown: Countdown
  ) async throws(TransportError) -> WispStream {
    let outcome = await interruptible(within: countdown.left, time: time) {
      () async -> Result<WispStream, TransportError> in
      do throws(TransportError) { return .success(try await shake(over: stream, keyPair)) } catch {
        return .failure(error)
      }
    }
    switch outcome {
    case .success(let opened): return try opened.get()
    case .failure(.cancelled): throw .cancelled()
    case .failure(.limit): throw .wispSilence(within: countdown.limit)
    }
  }

  private func shake(over stream: any ByteStream, _ keyPair: Obfs4KeyPair) async throws(TransportError) -> WispStream {
    var handshake: Obfs4ClientHandshake
    do throws(Obfs4Failure) {
      // The response's MAC uses this hour, even if the next begins meanwhile.
      handshake = try Obfs4ClientHandshake(
        to: server.identity, keyPair: keyPair, hour: Int(time.sinceEpoch() / .seconds(3600)), random: .system)
    } catch {
      throw error.dialing
    }
    do throws(TransportError) {
      try await stream.write(Data(handshake.hello), within: nil)
      var room = Obfs4Handshake.maximumLength
      while let bytes = try await stream.read(upTo: max(1, room), within: nil) {
        room -= bytes.count
        if let opened = try opened(&handshake, bytes, over: stream) { return opened }
        if room <= 0 { throw Obfs4Failure.noMark.dialing }
      }
    } catch {
      throw error.talkingToWispServer
    }
    throw .wispClosed()
  }

  private func opened(
    _ handshake: inout Obfs4ClientHandshake, _ bytes: Data, over stream: any ByteStream
  ) throws(TransportError) -> WispStream? {
    do throws(Obfs4Failure) {
      guard let session = try handshake.receive([UInt8](bytes)) else { return nil }
      return try WispStream(session, over: stream, mode: server.mode, time: time)
    } catch {
      throw error.dialing
    }
  }
}
