// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroHTTP
package import LastroObfuscation
internal import LastroSupport

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The obfs4 tunnel: a stream whose every byte looks random, to a server (a "bridge") that proves to have the key of
/// its certificate. The Swift Transport API calls it Wisp.
///
/// The server leads its streams to the one place that its operator chose: host and port of a request to dial are for
/// the layers above (the name for TLS), and are never sent. To choose hosts, let that place be a proxy, and put a
/// ``SOCKS5Dialer`` over this dialer.
///
/// ```swift
/// let server = try WispServer("obfs4:192.0.2.7:443?cert=AQID…cg&iat-mode=0")
/// let dialer = TLSDialer(over: WispDialer(server, over: engine))
/// ```
///
/// - It carries bytes. TLS is a `TLSDialer`'s that is put over it, and needed: obfs4 hides, and proves the server, but
///   an attacker who can cut the connection can end a stream between two frames unseen. Datagrams are refused.
/// - The protocol has no end of its own for one direction. Ending it sends nothing: the server does not learn of it,
///   and what has to be told is told in the protocol above. Closing ends both directions.
/// - Reading decodes what is there when the application reads, and not before: at most 64 KiB at a time. A frame that
///   was changed on its path closes the connection; what came before it is read first, then every read throws code
///   `protocol_violation`.
/// - A small write costs up to 1,448 bytes and more for its padding: write much at once. Pauses of
///   ``WispServer/Timing/paused`` and ``WispServer/Timing/paranoid`` are part of the write and of its limit, but that
///   behind the last piece.
/// - The clocks of both ends may differ by an hour at most.
public struct WispDialer: Dialer {
  /// The server.
  public let server: WispServer
  /// The dialer that reaches it.
  public let below: any Dialer
  private let time: TimeSource
  private let random: any Obfs4Random

  /// Makes a tunnel; the server is asked at the first dial.
  ///
  /// - Parameters:
  ///   - server: address, certificate and timing.
  ///   - below: how it is reached: straight, or through another tunnel.
  ///   - time: measures pauses and limits, and tells the hour. Default: the system's clock.
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

  /// Opens a stream: makes a key, dials the server, and has it prove that it knows the certificate's secret, all within
  /// the request's limit. A server says nothing to a client that it does not accept, so that a wrong certificate, a
  /// wrong clock and a server of another kind end with the limit.
  ///
  /// - Throws: `TransportError`; stage `proxy`: code `proxy_not_found` or `proxy_connect_failed` where the server
  ///   cannot be reached, `proxy_refused` where it ends the connection, `handshake_failed` for a response that is not
  ///   its own, with an `engineCode`: 1 no mark in 8,192 bytes, 2 wrong MAC, 3 wrong proof, 4 a key that gives no
  ///   secret. Stage `timeout`, code `connect_timeout`, where it is silent. Stage `request`, code `unsupported`, for
  ///   TLS and where libcrypto refuses what obfs4 needs. What else the dialer below throws. Nothing of the application
  ///   was sent.
  public func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    guard request.tls == nil else { throw .noTLS("WispDialer") }
    _ = try NestedTarget(host: request.host, port: request.port)
    try checkPlaintext(request)
    let countdown = Countdown(request.connectTimeout, now: time.now)
    // Made before the connection: how long it took must not be seen.
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

  /// Asks the dialer below.
  ///
  /// - Throws: `TransportError`, as the dialer below.
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

  /// A handshake that the limit or a cancellation gives up is closed by the caller, which ends the waiting task.
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
      // The server answers over this hour, also where another begins meanwhile.
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
