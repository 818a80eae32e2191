// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import Synchronization

/// A link whose bytes are recorded on the tape of the exchange that uses it, if its call is recorded. Only HTTP/1.1 is
/// recorded, over which an exchange has the link to itself.
final class TapedLink: Link {
  private static let latest = Atomic<UInt64>(0)

  private let base: any Link
  private let openedAt: Int64
  private let number = TapedLink.latest.wrappingAdd(1, ordering: .relaxed).newValue
  // Unowned, as for every link: the user closes its link before it is released.
  private unowned var connection: HTTPConnection?
  /// The tape of the latest exchange.
  private var tape: TransferTape?

  init(_ base: any Link, openedAt: Int64) {
    self.base = base
    self.openedAt = openedAt
  }

  func attach(_ user: any LinkUser) {
    connection = user as? HTTPConnection
    base.attach(user)
  }

  /// Records an event for the current exchange.
  private func note(_ event: @autoclosure () -> LinkEvent) {
    guard let connection, let exchange = (connection.session as? HTTP1Session)?.exchange,
      let current = exchange.job.request.tape
    else { return }
    if tape !== current {
      tape = current
      exchange.recordBeginning(on: current)
      let note = LinkNote(
        openedAt: openedAt, isReused: connection.isReused, verdict: exchange.verdict ?? .plain, hasTLS: facts.hasTLS,
        readsWhole: facts.readsWhole, isProxied: facts.isProxied, applicationProtocol: facts.applicationProtocol,
        remoteAddress: facts.remoteAddress, remotePort: facts.remotePort, localPort: facts.localPort,
        timings: facts.timings)
      current.note(.used(note), link: number, at: exchange.now)
    }
    current.note(event(), link: number, at: exchange.now)
  }

  // MARK: Bytes

  func receive(into space: UnsafeMutableRawBufferPointer) -> LinkStep {
    let step = base.receive(into: space)
    switch step {
    case .moved(let count): note(.read(Array(space[..<count])))
    case .wait: break
    case .end(let isClean): note(.ended(isClean: isClean))
    case .failed: note(.failed(base.failure ?? .goneBeforeSending))
    }
    return step
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> LinkStep {
    let step = base.send(bytes)
    switch step {
    case .moved(let count): note(.sent(Array(bytes[..<count])))
    case .wait: note(.blocked)
    case .end(let isClean): note(.ended(isClean: isClean))
    case .failed: note(.failed(base.failure ?? .goneBeforeSending))
    }
    return step
  }

  func delivery(now: Int64) -> LinkDelivery? {
    let delivery = base.delivery(now: now)
    if let delivery {
      note(
        .delivery(
          acknowledged: delivery.acknowledged, queued: delivery.queued, acknowledgedAt: delivery.acknowledgedAt))
    }
    return delivery
  }

  func close() {
    if let connection { tape?.note(.closed, link: number, at: connection.host.engine.now) }
    tape = nil
    base.close()
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
    let note = EngineNote(
      userAgent: settings.userAgent, sendsAccept: settings.sendsAccept, decompresses: settings.decompresses,
      maximumHeadBytes: settings.maximumHeadBytes, maximumHeaderFields: settings.maximumHeaderFields,
      maximumInterimResponses: settings.maximumInterimResponses,
      maximumContentCodings: settings.maximumContentCodings,
      maximumDecompressionRatio: settings.maximumDecompressionRatio, streamBufferBytes: settings.streamBufferBytes,
      idleConnections: settings.idleConnections)
    tape.note(.began(enqueuedAt: job.enqueuedAt, startedAt: startedAt, settings: note), at: now)
  }
}
