// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
public import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The obfs4 tunnel: a stream in which every byte looks random, to a server (a "bridge") that proves to have the key of
/// its certificate. The Swift Transport API calls it Wisp.
///
/// The server forwards its streams to the single destination that its operator chose. Host and port of a dial request
/// are only used by the layers above (as the name for TLS), and are never sent. To choose hosts, let that destination
/// be a proxy, and put a ``SOCKS5Dialer`` over this dialer.
///
/// ```swift
/// let server = try WispServer("obfs4:192.0.2.7:443?cert=AQID…cg&iat-mode=0")
/// let dialer = TLSDialer(over: WispDialer(server, over: engine))
/// ```
///
/// - It carries bytes. Put a `TLSDialer` over it: obfs4 hides the traffic and authenticates the server, but an attacker
///   who can cut the connection can end a stream between two frames unnoticed. Datagrams are refused.
/// - The protocol cannot end a single direction. Ending the outgoing direction sends nothing, so the server is not
///   informed; use the protocol above for that. Closing ends both directions.
/// - Bytes are decoded when the application reads, at most 64 KiB at a time. A frame that was changed in transit closes
///   the connection. The bytes before it can still be read; after that, every read throws code `protocol_violation`.
/// - A small write can send 1,448 bytes or more because of its padding: prefer large writes. The pauses of
///   ``WispServer/Timing/paused`` and ``WispServer/Timing/paranoid`` are part of the write and count against its limit,
///   except the one after the last piece.
/// - The clocks of both ends may differ by at most an hour.
public struct WispDialer: Dialer {
  /// The server.
  package let server: WispServer
  /// The dialer that reaches the server.
  package let below: any Dialer
  private let time: TimeSource
  private let random: any Obfs4Random

  /// Creates a tunnel; the server is first contacted by the first dial.
  ///
  /// - Parameters:
  ///   - server: the address, certificate and timing of the server.
  ///   - below: the dialer that reaches the server: directly, or through another tunnel.
  ///   - time: the time source for pauses, limits and the current hour. Default: the system's clock.
  public init(_ server: WispServer, over below: any Dialer, time: TimeSource = .continuous) {
    self.init(server, over: below, time: time, random: Obfs4SystemRandom())
  }

  package init(
    _ server: WispServer, over below: any Dialer, time: TimeSource = .continuous, random: any Obfs4Random
  ) {
    self.server = server
    self.below = below
    self.time = time
    self.random = random
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
  public func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard request.tls == nil else { throw .noTLS("WispDialer") }
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

  /// Checks the request with the dialer below.
  ///
  /// - Throws: `TransportError`, like the dialer below.
  public func checkPlaintext(_ request: DialRequest) throws(TransportError) { try below.checkPlaintext(request) }

  /// Returns the revisions of the dialer below.
  public func trustRevisions(for request: DialRequest) -> [UInt64] { below.trustRevisions(for: request) }

  private func keyPair() throws(TransportError) -> Obfs4KeyPair {
    var random = random
    do throws(Obfs4Failure) {
      return try Obfs4KeyPair.generate(using: &random)
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
    var random = random
    var handshake: Obfs4ClientHandshake
    do throws(Obfs4Failure) {
      // The server responds for this hour, even if the next one begins meanwhile.
      handshake = try Obfs4ClientHandshake(
        to: server.identity, keyPair: keyPair, hour: Int(time.sinceEpoch() / .seconds(3600)), random: &random)
    } catch {
      throw error.dialing
    }
    do throws(TransportError) {
      try await stream.write(Data(handshake.hello), within: nil)
      var room = WispStream.handshakeBytes
      while let bytes = try await stream.read(upTo: max(1, room), within: nil) {
        room -= bytes.count
        if let opened = try opened(&handshake, bytes, over: stream, random) { return opened }
        if room <= 0 { throw Obfs4Failure.noMark.dialing }
      }
    } catch {
      throw error.talkingToWispServer
    }
    throw .wispClosed()
  }

  private func opened(
    _ handshake: inout Obfs4ClientHandshake, _ bytes: Data, over stream: any ByteStream, _ random: any Obfs4Random
  ) throws(TransportError) -> WispStream? {
    do throws(Obfs4Failure) {
      guard let session = try handshake.receive([UInt8](bytes)) else { return nil }
      return try WispStream(session, over: stream, mode: server.mode, time: time, random: random)
    } catch {
      throw error.dialing
    }
  }
}
