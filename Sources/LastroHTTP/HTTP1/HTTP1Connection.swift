// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroSupport

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A stream that carries exchanges of HTTP/1.1, one after the other.
///
/// One task reads as long as it stands, so that what comes on an idle one ends it; another writes. What they do is
/// decided under the lock by the ``HTTP1Run`` that has the connection; what follows for others is done behind it.
final class HTTP1Connection: ExchangeConnection {
  private struct State {
    var run: HTTP1Run?
    /// Bytes that came and that no run has taken: the reader is slow.
    var held = Data()
    var heads = HeadMemory()
    /// Of the requests so far.
    var common: CommonFields?
    var served = 0
    var isClosed = false
    var mayWrite = true
    /// Whether nothing more is read.
    var hasEnded = false

    var mayRead: Bool { held.isEmpty && run?.isPaused != true && run?.isTunnel != true }
    var hasOutput: Bool { mayWrite && run?.hasOutput == true }
  }

  private static let readBytes = 64 * 1024

  let host: HostMemory
  private let stream: any ByteStream
  private let owner: any ConnectionOwner
  private let origin: ConnectionOrigin?
  private let state = Watched(State())
  // Unchecked because it is used under the lock of `state` alone.
  private nonisolated(unsafe) let effects = Effects()

  init(
    _ stream: any ByteStream, owner: any ConnectionOwner, host: HostMemory = HostMemory(),
    origin: ConnectionOrigin? = nil
  ) {
    self.stream = stream
    self.owner = owner
    self.host = host
    self.origin = origin
  }

  /// How long its server keeps it open without a request, where it says so.
  var keepAlive: Duration? { state.read { $0.heads.keepAlive } }

  /// Begins to read.
  func open() {
    Task { await readAll() }
    Task { await writeAll() }
  }

  // MARK: Jobs

  func begin(_ job: ExchangeJob) -> ExchangeBeginning {
    switch origin?.admit() {
    case .outdated:
      close()
      return .unfit
    case .refused(let error): return .refused(error)
    case .admitted, nil: break
    }
    guard job.attach(self) else { return .over }
    var result = ExchangeBeginning.begun
    change { state in result = begin(job, &state) }
    if case .begun = result { return result }
    job.detach()
    return result
  }

  private func begin(_ job: ExchangeJob, _ state: inout State) -> ExchangeBeginning {
    // One that is over since it was attached has been dropped in vain.
    if job.isOver { return .over }
    guard !state.isClosed, state.run == nil else { return .unfit }
    do throws(TransportError) {
      var common = state.common ?? CommonFields(job.settings)
      let run = try HTTP1Run(job, on: self, isReused: state.served > 0, state.heads, &common, effects)
      state.common = common
      state.served += 1
      state.run = run
      run.start()
      return .begun
    } catch {
      return .refused(error)
    }
  }

  func drop(_ job: ExchangeJob) { change(job) { run, _ in run.conclude(.cancelled(requestSent: true)) } }

  func readerLeft(_ job: ExchangeJob) {
    change(job) { run, state in
      run.readerLeft()
      Self.feedHeld(to: run, &state)
    }
  }

  func resumeReceiving(_ job: ExchangeJob) {
    change(job) { run, state in
      run.resumeReceiving()
      Self.feedHeld(to: run, &state)
    }
  }

  func resumeSending(_ job: ExchangeJob) { change(job) { run, _ in run.resumeSending() } }

  func check(_ job: ExchangeJob, now: Duration) -> Duration? {
    change(job) { run, _ in run.check(now) }
    return state.read { $0.run?.job === job ? $0.run?.due : nil }
  }

  /// Closes an idle connection, and ends the job of one that is not.
  func close() {
    change { state in
      state.run?.conclude(.shutDown)
      close(&state)
    }
  }

  // MARK: The stream

  private func readAll() async {
    while await state.wait(until: { $0.isClosed || $0.mayRead }), !state.read({ $0.isClosed }) {
      do throws(TransportError) {
        guard let data = try await stream.read(upTo: Self.readBytes, within: nil) else { return ended() }
        received(data)
      } catch {
        return failed(error)
      }
    }
  }

  private func received(_ data: Data) {
    change { state in
      // Bytes that were not asked for.
      guard let run = state.run else { return close(&state) }
      state.held = data
      Self.feedHeld(to: run, &state)
    }
  }

  private static func feedHeld(to run: HTTP1Run, _ state: inout State) {
    guard !state.held.isEmpty, !run.isPaused else { return }
    let used = state.held.withUnsafeBytes { run.receive($0, &state.heads) }
    state.held = used == state.held.count ? Data() : Data(state.held.dropFirst(used))
  }

  private func ended() {
    change { state in
      state.hasEnded = true
      if let run = state.run { run.connectionEnded(cleanly: true) }
      if state.run?.outcome == nil, state.run != nil { return }
      close(&state)
    }
  }

  private func failed(_ error: TransportError) {
    change { state in
      state.hasEnded = true
      if let run = state.run { run.receivingFailed(error) }
      if state.run?.outcome == nil, state.run != nil { return }
      close(&state)
    }
  }

  private func writeAll() async {
    while await state.wait(until: { $0.isClosed || $0.hasOutput }) {
      let next = state.change { state -> (run: ObjectIdentifier, piece: Data)? in
        guard !state.isClosed, let run = state.run else { return nil }
        return (ObjectIdentifier(run), run.takeOutput())
      }
      guard let (writer, piece) = next else { return }
      do throws(TransportError) {
        try await stream.write(piece, within: nil)
        change { state in
          // The answer may have come before the write returned, and the next run have begun.
          if let run = state.run, ObjectIdentifier(run) == writer { run.wrote(piece.count) }
        }
      } catch {
        return change { state in
          state.mayWrite = false
          state.run?.writeFailed()
        }
      }
    }
  }

  // MARK: Under the lock, and behind it

  private func change(_ job: ExchangeJob, _ body: (HTTP1Run, inout State) -> Void) {
    change { state in
      if let run = state.run, run.job === job { body(run, &state) }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let due = state.change { state in
      body(&state)
      settle(&state)
      return effects.takeAll()
    }
    for effect in due { effect() }
  }

  private func settle(_ state: inout State) {
    guard let run = state.run else { return }
    guard let outcome = run.outcome else {
      let due = run.due
      return effects.add { run.job.set(due) }
    }
    state.run = nil
    // Others learn of it before the caller, who may make the next request at once.
    switch outcome {
    case .reusable where state.held.isEmpty && state.mayWrite && !state.hasEnded && !state.isClosed:
      effects.add { [self] in owner.freed(self) }
      run.report()
    case .handedOver: handOver(run, &state)
    case .again:
      close(&state)
      effects.add { [self] in
        run.job.detach()
        owner.again(run.job)
      }
    case .closed, .reusable:
      close(&state)
      run.report()
    }
  }

  private func handOver(_ run: HTTP1Run, _ state: inout State) {
    let upgraded = TunnelStream(upgraded: stream, early: state.held)
    state.held = Data()
    state.isClosed = true
    effects.add { [self] in owner.gone(self) }
    run.report(upgraded: upgraded)
  }

  private func close(_ state: inout State) {
    guard !state.isClosed else { return }
    state.isClosed = true
    state.held = Data()
    effects.add { [self] in
      stream.close()
      owner.gone(self)
    }
  }

  // MARK: What is known

  func facts(isReused: Bool) -> TransferFacts {
    let facts = stream.facts
    return TransferFacts(
      remoteAddress: facts.remoteAddress, remotePort: facts.remotePort, connectionID: facts.localPort.map(Int64.init),
      connectionReused: isReused, trust: facts.trust)
  }
}
