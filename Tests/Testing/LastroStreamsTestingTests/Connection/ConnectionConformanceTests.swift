// SPDX-License-Identifier: Apache-2.0

import Dispatch
import FoundationEssentials
import Lastro
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import LastroTransports
import Testing

@Suite("Conformance checks of faulty connections", .timeLimit(.minutes(15)))
struct ConnectionConformanceTests {
  @Test(
    "A connection that violates a requirement is detected, with what happened instead", arguments: BrokenPromise.all)
  func found(_ broken: BrokenPromise) async throws {
    let kept = EventRecorder<StateHandler>()
    // The handlers retain their connection.
    defer { kept.removeAll() }
    let findings = await ConnectionConformance(
      of: ChangedFactory { broken.change(&$0, kept) }, bigLength: 100_000, patience: broken.patience,
      leavingOut: Set(ConnectionConformance.promises).subtracting([broken.promise])
    ).brokenPromises()
    #expect(findings.map(\.promise) == [broken.promise])
    let problem = try #require(findings.first).problem
    #expect(broken.isTold(by: problem), "\(problem)")
  }

  @Test("Every requirement is violated by a case of the table") func table() {
    #expect(Set(BrokenPromise.all.map(\.promise)) == Set(ConnectionConformance.promises))
  }

  @Test("The base connection of the cases satisfies every requirement") func unchanged() async {
    #expect(await ConnectionConformance(of: ChangedFactory { _ in }, bigLength: 100_000).brokenPromises() == [])
  }

  @Test("A factory without connections fails all requirements except those of ends that are left out")
  func noConnection() async {
    struct Nothing: ConnectionFactory {
      func connect(using parameters: ConnectionParameters) -> (any Connection)? { nil }
    }
    let ends = ConnectionConformance.promisesOfEnds
    let conformance = ConnectionConformance(of: Nothing(), checksEnds: false)
    let findings = await conformance.findings()
    let promises = ConnectionConformance.promises.filter { !ends.contains($0) }
    #expect(findings == promises.map { "\($0): the factory made no connection" })
    #expect(ends.count == 2)
  }

  @Test(
    "The factory gets a connect limit of at least the patience, and the caller's parameters are unchanged",
    arguments: [(nil, nil), (1, 30), (30, 30), (90, 90)] as [(Int?, Int?)])
  func connectLimit(given: Int?, expected: Int?) async {
    struct Asked: ConnectionFactory {
      let limits = EventRecorder<Duration?>()

      func connect(using parameters: ConnectionParameters) -> (any Connection)? {
        limits.record(parameters.connectTimeout)
        return nil
      }
    }
    let asked = Asked()
    let parameters = ConnectionParameters.tcp
    parameters.connectTimeout = given.map { .seconds($0) }
    _ = await ConnectionConformance(of: asked, using: parameters, patience: .seconds(30)).brokenPromises()
    let limit = expected.map { Duration.seconds($0) }
    #expect(asked.limits.events == ConnectionConformance.promises.map { _ in limit })
    #expect(parameters.connectTimeout == given.map { Duration.seconds($0) })
  }

  @Test("The echo returns what it receives, and ends its direction after the other side") func echo() async throws {
    let (near, far) = MemoryStream.pair()
    async let echo: Void = ConnectionConformance.echo(far)
    for text in ["hello", "again"] {
      try await near.write(Data(text.utf8))
      #expect(try await near.read() == Data(text.utf8))
    }
    try await near.finishWriting()
    #expect(try await near.read() == nil)
    try await echo
  }
}

// MARK: what is broken

typealias StateHandler = @Sendable (ConnectionState) -> Void
typealias ViabilityHandler = @Sendable (Bool) -> Void
typealias SentHandler = @Sendable (ConnectionError?) -> Void
typealias ReceivedHandler = @Sendable (Data?, ConnectionContentContext?, Bool, ConnectionError?) -> Void

/// A promise of a connection, a change that breaks it, and the problem that is reported.
struct BrokenPromise: Sendable, CustomTestStringConvertible {
  typealias Break = @Sendable (_ change: inout Change, _ kept: EventRecorder<StateHandler>) -> Void

  let promise: String
  /// The expected problem. The ellipsis in it matches any text.
  let problem: String
  let patience: Duration
  let change: Break

  /// Makes a case. Use a short patience only for an event that never happens. On a slow machine an earlier step may
  /// exceed it too, which is reported in the same words.
  init(_ promise: String, _ problem: String, patience: Duration = .seconds(60), _ change: @escaping Break) {
    self.promise = promise
    self.problem = problem
    self.patience = patience
    self.change = change
  }

  var testDescription: String { "\(promise): \(problem)" }

  func isTold(by text: String) -> Bool {
    guard let ellipsis = problem.firstIndex(of: "…") else { return text == problem }
    return text.hasPrefix(problem[..<ellipsis]) && text.hasSuffix(problem[ellipsis...].dropFirst())
  }
}

extension BrokenPromise {
  private static func failing(
    with error: ConnectionError?
  ) -> @Sendable (@escaping ReceivedHandler) -> ReceivedHandler {
    { tell in { data, context, isComplete, _ in tell(data, context, isComplete, error) } }
  }

  static let all = ofStates + ofContent + ofOrder + ofEnds + ofCancels

  private static let ofStates: [BrokenPromise] = [
    BrokenPromise("states are preparing, ready, cancelled", "the states were ready") { change, _ in
      change.states = { tell in { if $0 != .preparing { tell($0) } } }
    },
    BrokenPromise(
      "states are preparing, ready, cancelled",
      "cancelled is not the last state, once: preparing, ready, cancelled, ready"
    ) { change, _ in
      change.states = { tell in
        { state in
          tell(state)
          if state == .cancelled { tell(.ready) }
        }
      }
    },
    BrokenPromise(
      "states are preparing, ready, cancelled",
      "cancelled is not the last state, once: preparing, ready, cancelled, cancelled"
    ) { change, _ in
      change.states = { tell in
        { state in
          tell(state)
          if state == .cancelled { tell(state) }
        }
      }
    },
    BrokenPromise("a connection is viable when it is ready", "viability was [false]") { change, _ in
      change.viability = { tell in { _ in tell(false) } }
    },
    BrokenPromise("a second start does nothing", "the states were preparing, ready, ready") { change, _ in
      let starts = Lock(0)
      change.start = { connection, queue in
        let number = starts.withLock { starts in
          starts += 1
          return starts
        }
        connection.start(queue: queue)
        // This is the third start for this promise. Only then is the connection known to be ready.
        if number == 3 { queue.async { connection.stateUpdateHandler?(.ready) } }
      }
    },
    BrokenPromise(
      "handlers are released after the end", "…did not come in 300 ms", patience: .milliseconds(300)
    ) { change, kept in
      change.states = { tell in
        kept.record(tell)
        return tell
      }
    },
  ]

  private static let ofContent: [BrokenPromise] = [
    BrokenPromise("sent data is echoed", "receive 0 brought “ROUND 0 ” instead of “round 0 ”") { change, _ in
      change.received = { tell in
        { tell($0.map { Data(String(decoding: $0, as: UTF8.self).uppercased().utf8) }, $1, $2, $3) }
      }
    },
    BrokenPromise(
      "sent data is echoed", "…did not come in 300 ms", patience: .milliseconds(300)
    ) { change, _ in
      change.send = { send, _ in send { _ in } }
    },
    BrokenPromise("sent data is echoed", "the completion of send 0 was called 2 times") { change, _ in
      change.send = { send, tell in
        send {
          tell($0)
          tell($0)
        }
      }
    },
    BrokenPromise("sent data is echoed", "a handler or completion ran off the queue") { change, _ in
      let elsewhere = DispatchQueue(label: "lastro.test.elsewhere")
      change.send = { send, tell in send { error in elsewhere.sync { tell(error) } } }
    },
    BrokenPromise(
      "sends and receives before the start wait",
      "the first early send failed: \(ConnectionError.posix(.ENOTCONN))"
    ) { change, _ in
      let isStarted = Lock(false)
      change.start = { connection, queue in
        isStarted.withLock { $0 = true }
        connection.start(queue: queue)
      }
      change.send = { send, tell in isStarted.withLock { $0 } ? send(tell) : tell(.posix(.ENOTCONN)) }
    },
    BrokenPromise(
      "a receive respects its minimum and maximum", "a receive of 6 to 100 bytes brought “a” instead of “abcdef”"
    ) { change, _ in
      change.lengths = { _, _ in (1, 1) }
    },
    BrokenPromise(
      "a receive respects its minimum and maximum", "a receive of 4 bytes brought “01234” instead of “0123”"
    ) { change, _ in
      change.lengths = { minimum, maximum in minimum == maximum ? (minimum + 1, maximum + 1) : (minimum, maximum) }
    },
    BrokenPromise("invalid lengths are refused", "a receive of -1 to 10 did not fail") { change, _ in
      change.received = failing(with: nil)
    },
    BrokenPromise("much data passes unchanged", "100000 bytes came back changed") { change, _ in
      change.received = { tell in { tell($0.map { Data($0.reversed()) }, $1, $2, $3) } }
    },
    BrokenPromise("much data passes unchanged", "an empty piece after 0 bytes") { change, _ in
      change.received = { tell in { tell(nil, $1, $2, $3) } }
    },
  ]

  private static let ofOrder: [BrokenPromise] = [
    BrokenPromise("receives are served in order", "receive 0 brought “11” instead of “00”") { change, _ in
      let first = Lock<(@Sendable () -> Void)?>(nil)
      change.receive = { receive in
        let held = first.withLock { first in
          defer { first = first == nil ? receive : nil }
          return first
        }
        guard let held else { return }
        receive()
        held()
      }
    },
    BrokenPromise("receives are served in order", "completions came as […]") { change, _ in
      let answers = Lock<[@Sendable () -> Void]>([])
      change.received = { tell in
        { data, context, isComplete, error in
          let all = answers.withLock { answers in
            answers.append { tell(data, context, isComplete, error) }
            return answers
          }
          guard all.count == 10 else { return }
          for answer in all.reversed() { answer() }
        }
      }
    },
  ]

  private static let ofEnds: [BrokenPromise] = [
    BrokenPromise(
      "a final message ends our direction", "the end is not reported as complete, in a final context or without one"
    ) { change, _ in
      change.received = { tell in { tell($0, $1, false, $3) } }
    },
    BrokenPromise("a final message ends our direction", "a send after the final one did not fail") { change, _ in
      change.send = { send, tell in send { _ in tell(nil) } }
    },
    BrokenPromise(
      "a message without end has everything up to the end of the stream",
      "the message brought “abc” instead of “abcdef”"
    ) { change, _ in
      change.receiveMessage = { $0.receive(minimumIncompleteLength: 3, maxLength: 3, completion: $1) }
    },
  ]

  private static let ofCancels: [BrokenPromise] = [
    BrokenPromise("a cancel ends pending receives", "a receive that waits did not fail") { change, _ in
      change.received = failing(with: nil)
    },
    BrokenPromise("nothing works after a cancel", "a send after the cancel did not fail") { change, _ in
      change.send = { send, tell in send { _ in tell(nil) } }
    },
    BrokenPromise("a cancel before the start is final", "a send after the cancel did not fail") { change, _ in
      let isStarted = Lock(false)
      change.start = { connection, queue in
        isStarted.withLock { $0 = true }
        connection.start(queue: queue)
      }
      change.cancel = { connection in if isStarted.withLock({ $0 }) { connection.cancel() } }
    },
    BrokenPromise(
      "a cancel while connecting is final",
      "a receive failed with \(ConnectionError.posix(.ENOTCONN)) instead of ECANCELED"
    ) { change, _ in
      change.received = failing(with: .posix(.ENOTCONN))
    },
  ]
}

/// The changes that a connection makes to the behaviour of the connection below it.
struct Change: Sendable {
  var states: @Sendable (@escaping StateHandler) -> StateHandler = { $0 }
  var viability: @Sendable (@escaping ViabilityHandler) -> ViabilityHandler = { $0 }
  var start: @Sendable (any Connection, DispatchQueue) -> Void = { $0.start(queue: $1) }
  var cancel: @Sendable (any Connection) -> Void = { $0.cancel() }
  /// Replaces a send. Receives a closure that sends with a given completion, and the caller's completion.
  var send: @Sendable (_ send: (@escaping SentHandler) -> Void, _ tell: @escaping SentHandler) -> Void = { $0($1) }
  /// Replaces a receive. Receives a closure that performs it.
  var receive: @Sendable (_ receive: @escaping @Sendable () -> Void) -> Void = { $0() }
  var lengths: @Sendable (_ minimum: Int, _ maximum: Int) -> (Int, Int) = { ($0, $1) }
  var received: @Sendable (@escaping ReceivedHandler) -> ReceivedHandler = { $0 }
  var receiveMessage: @Sendable (any Connection, @escaping ReceivedHandler) -> Void = {
    $0.receiveMessage(completion: $1)
  }
}

/// A factory of connections to an echo in memory. It applies the same changes to each connection.
private struct ChangedFactory: ConnectionFactory {
  let change: @Sendable (inout Change) -> Void

  func connect(using parameters: ConnectionParameters) -> (any Connection)? {
    let dialer = MemoryDialer { _, stream in try await ConnectionConformance.echo(stream) }
    var change = Change()
    self.change(&change)
    return ChangedConnection(
      NetworkConnection(to: .hostPort(host: "echo.test", port: 7), using: parameters, dialer: dialer), change)
  }
}

private final class ChangedConnection: Connection {
  private let inner: any Connection
  private let change: Change

  init(_ inner: any Connection, _ change: Change) {
    self.inner = inner
    self.change = change
  }

  var stateUpdateHandler: StateHandler? {
    get { inner.stateUpdateHandler }
    set { inner.stateUpdateHandler = newValue.map(change.states) }
  }
  var viabilityUpdateHandler: ViabilityHandler? {
    get { inner.viabilityUpdateHandler }
    set { inner.viabilityUpdateHandler = newValue.map(change.viability) }
  }

  func start(queue: DispatchQueue) { change.start(inner, queue) }
  func cancel() { change.cancel(inner) }

  func send(
    content: Data?, contentContext: ConnectionContentContext, isComplete: Bool, completion: ConnectionSendCompletion
  ) {
    func send(_ completion: ConnectionSendCompletion) {
      inner.send(content: content, contentContext: contentContext, isComplete: isComplete, completion: completion)
    }
    guard case .contentProcessed(let tell) = completion else { return send(completion) }
    change.send({ send(.contentProcessed($0)) }, tell)
  }

  func receive(minimumIncompleteLength: Int, maxLength: Int, completion: @escaping ReceivedHandler) {
    let (minimum, maximum) = change.lengths(minimumIncompleteLength, maxLength)
    change.receive { [inner, change] in
      inner.receive(minimumIncompleteLength: minimum, maxLength: maximum, completion: change.received(completion))
    }
  }

  func receiveMessage(completion: @escaping ReceivedHandler) { change.receiveMessage(inner, completion) }
}
