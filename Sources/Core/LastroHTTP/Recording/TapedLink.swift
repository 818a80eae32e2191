// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import Synchronization

/// A link whose bytes are recorded on the tapes of the exchanges that use it, if their calls are recorded. Over HTTP/1.1
/// an exchange has the link to itself; over HTTP/2 each gets its part of the frames.
final class TapedLink: Link {
  private static let latest = Atomic<UInt64>(0)

  private let base: any Link
  private let openedAt: Int64
  private let number = TapedLink.latest.wrappingAdd(1, ordering: .relaxed).newValue
  // Unowned, as for every link: the user closes its link before it is released.
  private unowned var connection: HTTPConnection?
  /// The tape of the latest exchange over HTTP/1.1.
  private var tape: TransferTape?
  /// The frames of HTTP/2; `nil` over HTTP/1.1, and before the first bytes.
  private var frames: HTTP2Tape?

  init(_ base: any Link, openedAt: Int64) {
    self.base = base
    self.openedAt = openedAt
  }

  func attach(_ user: any LinkUser) {
    connection = user as? HTTPConnection
    base.attach(user)
  }

  /// Records an event for the current exchange, or over HTTP/2 for the calls that use the connection.
  private func note(_ event: @autoclosure () -> LinkEvent) {
    guard let connection else { return }
    if let frames {
      let followers = frames.currentFollowers()
      if followers.isEmpty { return }
      let event = event()
      for tape in followers { tape.note(event, link: number, at: connection.host.engine.now) }
      return
    }
    guard let exchange = (connection.session as? HTTP1Session)?.exchange, let current = exchange.job.request.tape,
      !current.isOver
    else { return }
    if tape !== current {
      tape = current
      noteUse(of: exchange, isReused: connection.isReused, on: current, session: nil)
    }
    current.note(event(), link: number, at: exchange.now)
  }

  /// Records that an exchange begins to use the link.
  private func noteUse(of exchange: Exchange, isReused: Bool, on tape: TransferTape, session: SessionNote?) {
    exchange.recordBeginning(on: tape)
    let note = LinkNote(
      openedAt: openedAt, isReused: isReused, verdict: exchange.verdict ?? .plain, hasTLS: facts.hasTLS,
      readsWhole: facts.readsWhole, isProxied: facts.isProxied, applicationProtocol: facts.applicationProtocol,
      remoteAddress: facts.remoteAddress, remotePort: facts.remotePort, localPort: facts.localPort,
      timings: facts.timings, session: session)
    tape.note(.used(note), link: number, at: exchange.now)
  }

  /// Records bytes that were sent or received.
  private func noteBytes(_ bytes: UnsafeRawBufferPointer, isSent: Bool) {
    guard let multiplexer = connection?.session as? HTTP2Multiplexer else {
      return note(isSent ? .sent(Array(bytes)) : .read(Array(bytes)))
    }
    let frames = frames ?? HTTP2Tape(early: facts.early)
    self.frames = frames
    let shares = frames.pieces(of: bytes, isSent: isSent) { stream in
      guard let exchange = multiplexer.exchange(on: stream), let tape = exchange.job.request.tape,
        !tape.isOver
      else { return nil }
      noteUse(
        of: exchange, isReused: exchange.isOnReused, on: tape, session: frames.note(heardAt: multiplexer.heardAt))
      return tape
    }
    let now = multiplexer.connection.host.engine.now
    for (tape, pieces) in shares { tape.note(.frames(isSent: isSent, pieces), link: number, at: now) }
  }

  // MARK: Bytes

  func receive(into space: UnsafeMutableRawBufferPointer) -> LinkStep {
    let step = base.receive(into: space)
    switch step {
    case .moved(let count): noteBytes(UnsafeRawBufferPointer(rebasing: space[..<count]), isSent: false)
    case .wait: break
    case .end(let isClean): note(.ended(isClean: isClean))
    case .failed: note(.failed(base.failure ?? .goneBeforeSending))
    }
    return step
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep {
    let step = base.send(bytes)
    switch step {
    case .moved(let count): noteBytes(UnsafeRawBufferPointer(rebasing: bytes[..<count]), isSent: true)
    case .wait: note(.blocked)
    case .end(let isClean): note(.ended(isClean: isClean))
    case .failed: note(.failed(base.failure ?? .goneBeforeSending))
    }
    return step
  }

  func delivery(now: Int64) -> LinkDelivery? {
    let delivery = base.delivery(now: now)
    frames?.noteDelivery()
    if let delivery {
      note(
        .delivery(
          acknowledged: delivery.acknowledged, queued: delivery.queued, acknowledgedAt: delivery.acknowledgedAt))
    }
    return delivery
  }

  func close() {
    if frames != nil {
      note(.closed)
    } else if let connection {
      tape?.note(.closed, link: number, at: connection.host.engine.now)
    }
    tape = nil
    base.close()
  }

  /// Leaves an exchange out of its trace if the frames of others took part in the loss of the connection.
  func noteLoss(_ loss: HTTP2Loss, of exchange: Exchange) {
    if let tape = exchange.job.request.tape { frames?.noteLoss(loss, of: tape) }
  }

  // MARK: The rest is that of the base

  var facts: LinkFacts { base.facts }
  var isCurrent: Bool { base.isCurrent }
  func admit(_ target: TrustTarget) -> LinkAdmission { base.admit(target) }
  var acceptsWrites: Bool { base.acceptsWrites }
  var failure: TransportError? { base.failure }
  var hasLostBytes: Bool { base.hasLostBytes }
  func watch(read: Bool, write: Bool) { base.watch(read: read, write: write) }
  var hidesInput: Bool { base.hidesInput }
  var hasInput: Bool { base.hasInput }
  var mayHaveMore: Bool { base.mayHaveMore }
  func hasEndedUnseen(isHeard: Bool) -> Bool { base.hasEndedUnseen(isHeard: isHeard) }
  func hasUnsolicitedInput(_ scratch: UnsafeMutableRawBufferPointer, isHeard: Bool) -> Bool {
    base.hasUnsolicitedInput(scratch, isHeard: isHeard)
  }
  func handOver(early: [UInt8]) -> (any ByteStream)? { base.handOver(early: early) }
}

extension Exchange {
  /// Records when the exchange was requested and when it began.
  func recordBeginning(on tape: TransferTape) {
    let settings = engine.settings
    var note = EngineNote(
      userAgent: settings.userAgent, sendsAccept: settings.sendsAccept, decompresses: settings.decompresses,
      mayExpect: host.mayExpect,
      maximumHeadBytes: settings.maximumHeadBytes, maximumHeaderFields: settings.maximumHeaderFields,
      maximumInterimResponses: settings.maximumInterimResponses,
      maximumContentCodings: settings.maximumContentCodings,
      maximumDecompressionRatio: settings.maximumDecompressionRatio, streamBufferBytes: settings.streamBufferBytes,
      idleConnections: settings.idleConnections,
      http2: .init(
        streamsPerHost: settings.http2StreamsPerHost, streamsPerConnection: settings.http2StreamsPerConnection,
        silence: settings.http2Liveness.silence, answer: settings.http2Liveness.answer,
        probe: settings.http2Liveness.probe))
    let codings = settings.codings.map(\.name)
    if codings != ["gzip", "deflate"] { note.codings = codings }
    tape.note(.began(enqueuedAt: job.enqueuedAt, startedAt: startedAt, settings: note), at: now)
  }
}
