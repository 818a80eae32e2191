// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import FoundationEssentials
public import Lastro
internal import LastroSupport
internal import LastroTesting
public import LastroTransports

/// A suite that checks whether the connections of a factory keep the promises of `Connection`. It is meant for authors
/// of transports, and needs no test framework.
///
/// The connections must lead to a peer that sends every byte back, and ends its direction when this side ends its own;
/// ``echo(_:)`` is one.
///
/// ```swift
/// let dialer = MemoryDialer { _, stream in try await ConnectionConformance.echo(stream) }
/// let base = NetworkConnectionFactory(to: .hostPort(host: "echo", port: 7), dialer: dialer)
/// let factory = MyTransportFactory(factory: base)
/// let findings = await ConnectionConformance(of: factory).findings()
/// ```
public struct ConnectionConformance: Sendable {
  /// A broken promise.
  package struct Finding: Error, Sendable, Hashable, CustomStringConvertible {
    /// The promise that was broken.
    package var promise: String
    /// The observed behavior.
    package var problem: String

    /// The promise and the problem on one line.
    package var description: String { "\(promise): \(problem)" }
  }

  let factory: any ConnectionFactory
  let parameters: ConnectionParameters
  let patience: Duration
  let bigLength: Int
  private let omitted: Set<String>

  /// Creates a suite.
  ///
  /// - Parameters:
  ///   - factory: creates a connection for every promise; each is started once.
  ///   - parameters: the parameters that are passed to the factory, with a connect limit of at least `patience`.
  ///   - bigLength: the number of bytes that are sent at once and echoed. Default 1 MiB.
  ///   - patience: the time after which a missing event counts as a hang. Default 60 s.
  ///   - checksEnds: whether the peer learns that this side ends its direction. Pass `false` for a transport that
  ///     cannot inform its server, as meek and obfs4 cannot. Default `true`.
  public init(
    of factory: any ConnectionFactory, using parameters: ConnectionParameters = .tcp, bigLength: Int = 1 << 20,
    patience: Duration = .seconds(60), checksEnds: Bool = true
  ) {
    self.init(
      of: factory, using: parameters, bigLength: bigLength, patience: patience,
      leavingOut: checksEnds ? [] : Self.promisesOfEnds)
  }

  /// - Parameter omitted: the promises that are not checked.
  package init(
    of factory: any ConnectionFactory, using parameters: ConnectionParameters = .tcp, bigLength: Int = 1 << 20,
    patience: Duration = .seconds(60), leavingOut omitted: Set<String>
  ) {
    self.factory = factory
    self.parameters = parameters.copy()
    if let limit = parameters.connectTimeout, limit < patience { self.parameters.connectTimeout = patience }
    self.bigLength = bigLength
    self.patience = patience
    self.omitted = omitted
  }

  /// Sends back every byte of a stream, then ends this direction when the other side ends its own.
  ///
  /// - Throws: the errors of the stream.
  public static func echo(_ stream: any ByteStream) async throws {
    while let bytes = try await stream.read() { try await stream.write(bytes) }
    try await stream.finishWriting()
  }

  /// The promises, by name, in the order in which they are checked.
  package static var promises: [String] { checks.map(\.name) }

  /// The promises of a transport that informs its server when this side ends its direction; meek and obfs4 cannot.
  package static var promisesOfEnds: Set<String> { Set(checks.filter(\.needsEnd).map(\.name)) }

  /// Checks every promise, one after the other.
  ///
  /// - Returns: a line for each broken promise, with the observed behavior; none for a correct connection.
  public func findings() async -> [String] { await brokenPromises().map(\.description) }

  /// Checks every promise, one after the other.
  package func brokenPromises() async -> [Finding] {
    var findings: [Finding] = []
    for check in kept {
      if let finding = await finding(check) { findings.append(finding) }
    }
    return findings
  }

  private var kept: [Check] { Self.checks.filter { !omitted.contains($0.name) } }

  private func finding(_ check: Check) async -> Finding? {
    guard let connection = factory.connect(using: parameters) else {
      return Finding(promise: check.name, problem: "the factory made no connection")
    }
    let subject = ConnectionSubject(connection, patience: patience)
    do throws(ConnectionSubject.Problem) {
      try await check.run(self, subject)
      try await subject.cancelAndCount()
      return nil
    } catch {
      connection.cancel()
      return Finding(promise: check.name, problem: error.text)
    }
  }

  struct Check: Sendable {
    typealias Run =
      @Sendable (ConnectionConformance, ConnectionSubject) async throws(ConnectionSubject.Problem) -> Void

    var name: String
    var needsEnd = false
    var run: Run
  }
}

extension ConnectionConformance {
  private typealias Problem = ConnectionSubject.Problem

  static let checks: [Check] = [
    Check(name: "states are preparing, ready, cancelled", run: states),
    Check(name: "a connection is viable when it is ready", run: viability),
    Check(name: "sent data is echoed", run: echo),
    Check(name: "sends and receives before the start wait", run: early),
    Check(name: "a receive respects its minimum and maximum", run: lengths),
    Check(name: "receives are served in order", run: order),
    Check(name: "much data passes unchanged", run: big),
    Check(name: "a final message ends our direction", needsEnd: true, run: halfClose),
    Check(name: "a message without end has everything up to the end of the stream", needsEnd: true, run: wholeStream),
    Check(name: "a second start does nothing", run: secondStart),
    Check(name: "a cancel ends pending receives", run: cancelWaiting),
    Check(name: "nothing works after a cancel", run: afterCancel),
    Check(name: "a cancel before the start is final", run: cancelBeforeStart),
    Check(name: "a cancel while connecting is final", run: cancelWhileConnecting),
    Check(name: "invalid lengths are refused", run: badLengths),
    Check(name: "handlers are released after the end", run: release),
  ]

  @Sendable private static func states(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
  }

  @Sendable private static func viability(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
    try await subject.expect(subject.send("ping", Data("ping".utf8)), "a send")
    try await subject.expect(subject.receive("pong", 4, 4), bytes: "ping", "the echo")
    guard subject.viability.first == true else { throw Problem(text: "viability was \(subject.viability)") }
  }

  @Sendable private static func echo(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
    for round in 0..<20 {
      let text = String(repeating: "round \(round) ", count: round + 1)
      try await subject.expect(subject.send("send \(round)", Data(text.utf8)), "send \(round)")
      let count = text.utf8.count
      try await subject.expect(subject.receive("receive \(round)", count, count), bytes: text, "receive \(round)")
    }
  }

  @Sendable private static func early(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    let answer = subject.receive("early receive", 6, 6)
    let first = subject.send("early send 1", Data("abc".utf8))
    let second = subject.send("early send 2", Data("def".utf8))
    subject.start()
    try await subject.expect(first, "the first early send")
    try await subject.expect(second, "the second early send")
    try await subject.expect(answer, bytes: "abcdef", "the early receive")
  }

  @Sendable private static func lengths(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
    let whole = subject.receive("minimum of two sends", 6, 100)
    try await subject.expect(subject.send("one", Data("abc".utf8)), "a send")
    try await subject.expect(subject.send("two", Data("def".utf8)), "a send")
    try await subject.expect(whole, bytes: "abcdef", "a receive of 6 to 100 bytes")
    try await subject.expect(subject.send("three", Data("0123456789".utf8)), "a send")
    try await subject.expect(subject.receive("4 of 10", 4, 4), bytes: "0123", "a receive of 4 bytes")
    try await subject.expect(subject.receive("6 of 10", 6, 100), bytes: "456789", "the receive of the rest")
  }

  @Sendable private static func order(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
    let names = (0..<10).map { "receive \($0)" }
    let answers = names.map { subject.receive($0, 2, 2) }
    let sends = (0..<10).map { subject.send("send \($0)", Data("\($0)\($0)".utf8)) }
    for (number, send) in sends.enumerated() { try await subject.expect(send, "send \(number)") }
    for (number, answer) in answers.enumerated() {
      try await subject.expect(answer, bytes: "\(number)\(number)", "receive \(number)")
    }
    let order = subject.order
    guard order.filter({ $0.hasPrefix("receive") }) == names,
      order.filter({ $0.hasPrefix("send") }) == (0..<10).map({ "send \($0)" })
    else { throw Problem(text: "completions came as \(order)") }
  }

  @Sendable private static func big(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
    let sent = Data((0..<suite.bigLength).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8) ^ ($0 >> 16)) })
    let send = subject.send("big send", sent)
    var got = Data()
    var count = 0
    while got.count < sent.count {
      let answer = try await subject.expect(subject.receive("piece \(count)"), "a piece")
      guard !answer.data.isEmpty else { throw Problem(text: "an empty piece after \(got.count) bytes") }
      got.append(answer.data)
      count += 1
    }
    try await subject.expect(send, "the big send")
    guard got == sent else { throw Problem(text: "\(sent.count) bytes came back changed") }
  }

  @Sendable private static func halfClose(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
    try await subject.expect(subject.send("last", Data("last".utf8), .finalMessage), "the final send")
    let answer = try await subject.expect(subject.receive("echo", 5, 100), "the receive of the last bytes")
    guard answer.data == Data("last".utf8) else {
      throw Problem(text: "\(answer.data.count) bytes came before the end")
    }
    var isEnd = answer.isEnd
    if !isEnd { isEnd = try await subject.expect(subject.receive("end", 1, 100), "the receive of the end").isEnd }
    guard isEnd else { throw Problem(text: "the end is not reported as complete, in a final context or without one") }
    let after = try await subject.expect(subject.receive("after the end", 1, 100), "a receive after the end")
    guard after.isEnd, after.data.isEmpty else {
      throw Problem(text: "a receive after the end does not report the end")
    }
    let late = subject.send("after the final", Data("x".utf8))
    guard try await subject.patiently("a send after the final one", late, else: nil) != nil else {
      throw Problem(text: "a send after the final one did not fail")
    }
    guard subject.states.last == .ready else { throw Problem(text: "the states were \(subject.history)") }
  }

  @Sendable private static func wholeStream(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
    let message = subject.receiveMessage("message")
    try await subject.expect(subject.send("one", Data("abc".utf8)), "a send")
    try await subject.expect(subject.send("two", Data("def".utf8), .finalMessage), "the final send")
    try await subject.expect(message, bytes: "abcdef", "the message")
  }

  @Sendable private static func secondStart(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    subject.start()
    try await subject.startAndWait()
    subject.start()
    try await subject.expect(subject.send("ping", Data("ping".utf8)), "a send")
    try await subject.expect(subject.receive("pong", 4, 4), bytes: "ping", "the echo")
    guard subject.states == [.preparing, .ready] else { throw Problem(text: "the states were \(subject.history)") }
  }

  @Sendable private static func cancelWaiting(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
    let waiting = (0..<3).map { subject.receive("receive \($0)", 1, 100) } + [subject.receiveMessage("message")]
    subject.connection.cancel()
    subject.connection.cancel()
    for shot in waiting { try await subject.expectCancelled(shot, "a receive that waits") }
  }

  @Sendable private static func afterCancel(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
    subject.connection.cancel()
    try await subject.expectCancelled(subject.receive("late receive", 1, 100), "a late receive")
    let send = subject.send("late send", Data("x".utf8))
    guard try await subject.patiently("a late send", send, else: nil) != nil else {
      throw Problem(text: "a send after the cancel did not fail")
    }
    subject.start()
  }

  @Sendable private static func cancelBeforeStart(
    _ suite: Self, _ subject: ConnectionSubject
  ) async throws(Problem) {
    // Use a probe that is not counted: without a start there is no queue for a completion.
    subject.connection.cancel()
    subject.start()
    let receive = subject.connection.sendProbe()
    guard try await subject.patiently("a send after the cancel", receive, else: nil) != nil else {
      throw Problem(text: "a send after the cancel did not fail")
    }
    guard !subject.states.contains(.ready) else { throw Problem(text: "it became ready") }
  }

  @Sendable private static func cancelWhileConnecting(
    _ suite: Self, _ subject: ConnectionSubject
  ) async throws(Problem) {
    let receive = subject.receive("receive", 1, 100)
    subject.start()
    subject.connection.cancel()
    try await subject.expectCancelled(receive, "a receive")
  }

  @Sendable private static func badLengths(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
    for (minimum, maximum) in [(-1, 10), (5, 4), (0, 0), (1, -1)] {
      let shot = subject.receive("\(minimum) to \(maximum)", minimum, maximum)
      let answer = try await subject.patiently(
        "a receive of \(minimum) to \(maximum)", shot, else: ConnectionSubject.Answer())
      guard answer.error != nil else { throw Problem(text: "a receive of \(minimum) to \(maximum) did not fail") }
    }
    try await subject.expect(subject.send("ping", Data("ping".utf8)), "a send")
    try await subject.expect(subject.receive("pong", 4, 4), bytes: "ping", "the echo")
  }

  @Sendable private static func release(_ suite: Self, _ subject: ConnectionSubject) async throws(Problem) {
    try await subject.startAndWait()
    let gone = OneAnswer<Void>()
    do {
      let token = DeinitToken(gone)
      let handler = subject.connection.stateUpdateHandler
      let connection = subject.connection
      connection.stateUpdateHandler = { state in
        handler?(state)
        withExtendedLifetime((token, connection)) {}
      }
    }
    subject.connection.cancel()
    try await subject.patiently("the release of the handler", gone, else: ())
  }
}

/// A token that reports its deallocation.
private final class DeinitToken: Sendable {
  private let gone: OneAnswer<Void>

  init(_ gone: OneAnswer<Void>) { self.gone = gone }

  deinit { gone.give(()) }
}

extension ConnectionSubject.Answer {
  fileprivate var isEnd: Bool { isComplete && context?.isFinal ?? true }
}

extension ConnectionSubject {
  fileprivate func expectCancelled(_ shot: OneAnswer<Answer>, _ what: String) async throws(Problem) {
    let answer = try await patiently(what, shot, else: Answer())
    guard let error = answer.error else { throw Problem(text: "\(what) did not fail") }
    guard error.isCancellation else { throw Problem(text: "\(what) failed with \(error) instead of ECANCELED") }
  }
}

extension Connection {
  fileprivate func sendProbe() -> OneAnswer<ConnectionError?> {
    let shot = OneAnswer<ConnectionError?>()
    send(content: Data("x".utf8), completion: .contentProcessed { shot.give($0) })
    return shot
  }
}
