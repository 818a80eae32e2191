// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import Lastro
import LastroSimulation
import LastroSupport
import LastroTesting
import LastroWire
import TestSupport
import Testing

@testable import LastroHTTP

/// An engine under virtual time, over links in memory. The test turns it on its own thread: no call blocks, no code
/// runs concurrently with the test, and equal histories have equal outcomes.
final class VirtualEngine {
  let clock = ManualClock(now: .seconds(1_000))
  let network: MemoryNetwork
  let connector: MemoryConnector
  let settings: EngineSettings
  let port: EnginePort
  private let manual: ManualLoop

  init(_ options: ConnectionOptions = ConnectionOptions(), _ edit: (inout EngineSettings) -> Void = { _ in }) {
    var settings = EngineSettings()
    edit(&settings)
    self.settings = settings
    let reactor = MemoryReactor()
    network = MemoryNetwork(clock, reactor)
    connector = MemoryConnector(network)
    let loop = ManualLoop(time: clock.timeSource, reactor: reactor, guest: network)
    manual = loop
    let engine = EngineReference()
    port = EnginePort(on: loop.loop, settings, options: SharedOptions(options), engine)
    loop.loop.seat.withLock { [connector] core in core?.open(engine, settings, connector) }
  }

  deinit {
    port.loop.shutDown(cancelling: true)
    _ = manual.settle()
    network.forgetScripts()
  }

  // MARK: Requests

  /// Starts a request without a turn of the loop.
  func submit(_ request: TransferRequest) -> VirtualCall {
    let call = prepare(request)
    begin(call)
    return call
  }

  /// Creates a request's job, for ``begin(_:)``.
  func prepare(_ request: TransferRequest) -> VirtualCall {
    let asks: ResponseReader.Request = request.head.method == .head ? .head : .ordinary
    return VirtualCall(EngineJob(request: request, asks: asks, own: nil, port: port))
  }

  /// Starts opening connections to the server of a request, which is not sent.
  func startWarming(_ count: Int, _ request: TransferRequest = .to()) -> [VirtualCall] {
    let calls = (1...count).map {
      VirtualCall(EngineJob(request: request, asks: .ordinary, own: nil, port: port, wantedConnections: $0))
    }
    for call in calls { begin(call) }
    settle()
    return calls
  }

  func begin(_ call: VirtualCall) {
    if !port.start(call.job) { call.job.finish(.shutDown, facts: nil) }
  }

  /// Starts a request, and turns the loop until nothing is ready.
  func start(_ request: TransferRequest, sourceLocation: SourceLocation = #_sourceLocation) -> VirtualCall {
    let call = submit(request)
    settle(sourceLocation: sourceLocation)
    return call
  }

  func cancel(_ call: VirtualCall, sourceLocation: SourceLocation = #_sourceLocation) {
    call.job.cancel()
    settle(sourceLocation: sourceLocation)
  }

  // MARK: Time

  /// Turns the loop until nothing is ready.
  func settle(sourceLocation: SourceLocation = #_sourceLocation) {
    if !manual.settle() {
      Issue.record("the loop is busy without progress", sourceLocation: sourceLocation)
    }
  }

  /// Advances the clock, and stops at each time at which the loop has work.
  func advance(by duration: Duration, sourceLocation: SourceLocation = #_sourceLocation) {
    let end = clock.now + duration
    settle(sourceLocation: sourceLocation)
    while let due = manual.due, due > 0, due < .max, .nanoseconds(due) <= end {
      clock.advance(by: .nanoseconds(due) - clock.now)
      settle(sourceLocation: sourceLocation)
    }
    clock.advance(by: end - clock.now)
    settle(sourceLocation: sourceLocation)
  }

  /// The time of the loop's next work; `nil` for never.
  var nextDue: Duration? {
    guard let due = manual.due, due < .max else { return nil }
    return .nanoseconds(due)
  }

  /// The number of jobs that were started and have not ended.
  var activeJobs: Int { port.activeJobs }

  /// The objects that the engine holds.
  struct Holdings: Equatable {
    var hasExchanges = false
    var dials = 0
    var connections = 0
    /// The open descriptors of the reactor.
    var descriptors = 0

    /// Returns the holdings of an engine at rest that keeps a number of idle connections.
    static func atRest(connections: Int) -> Self { Self(connections: connections, descriptors: connections) }
  }

  var holdings: Holdings {
    let core = port.reference.core
    return Holdings(
      hasExchanges: core?.isEmpty == false, dials: connector.dialCount, connections: core?.connections.count ?? 0,
      descriptors: network.reactor.openCount)
  }

  /// Shuts the engine down, which closes every link.
  func shutDown(cancelling: Bool = true) {
    port.loop.shutDown(cancelling: cancelling)
    settle()
  }
}

/// A request to a ``VirtualEngine``, and its outcome.
final class VirtualCall {
  let job: EngineJob
  private var taken: Result<TransferResponse, TransportError>?

  init(_ job: EngineJob) { self.job = job }

  var isOver: Bool { taken != nil || job.answer.isGiven }

  /// The outcome; `nil` while the request is pending.
  var outcome: Result<TransferResponse, TransportError>? {
    if let taken { return taken }
    guard job.answer.isGiven else { return nil }
    do throws(TransportError) { taken = .success(try job.takeAnswer()) } catch { taken = .failure(error) }
    return taken
  }

  var response: TransferResponse? { try? outcome?.get() }
  var status: Int? { response?.head.status.code }
  /// The body's text if the body is in memory.
  var text: String? { response?.body.bytes.map { String(decoding: $0, as: UTF8.self) } }

  var error: TransportError? { if case .failure(let error)? = outcome { error } else { nil } }

  /// The stage and code of the failure, such as `timeout/total_timeout`, or the status; `waiting` without an outcome.
  var words: String {
    switch outcome {
    case nil: "waiting"
    case .success(let response): "\(response.head.status.code)"
    case .failure(let error): "\(error.stage.rawValue)/\(error.code)"
    }
  }
}
